"""In which functions a change is."""

from kernel.changes import changed_functions, functions

SOURCE = """
#include <linux/fs.h>

struct kept
{
	int field;
};

static const struct file_operations operations = {
	.open = open,
};

static inline int first(struct inode *inode, int (*called)(void))
{
	if (inode) {
		return called();
	}
	return 0;
}

/* Said of it. */
__printf(2, 3)
STATIC int
second(
	struct inode	*inode)
{
	int result;

	result = first(inode, NULL);
	if (result)
		return result;
	return 1;
}

#ifdef CONFIG_X
void third(void) __must_hold(&lock)
{
	second(NULL);
}
#endif
""".splitlines(keepends=True)


def changed(old: str, new: str) -> tuple[str, ...]:
    text = "".join(SOURCE)
    assert text.count(old) == 1
    return changed_functions(SOURCE, text.replace(old, new).splitlines(keepends=True))


def test_functions_are_found_by_their_braces():
    found = list(functions(SOURCE))
    assert [name for name, _, _ in found] == ["first", "second", "third"]
    assert all(SOURCE[opens] == "{\n" and SOURCE[closes] == "}\n" for _, opens, closes in found)


def test_a_change_is_in_the_function_around_it():
    assert changed("\t\treturn called();\n", "\t\treturn 2;\n") == ("first",)
    assert changed("\treturn 1;\n", "\treturn 1;\n\tfirst(NULL, NULL);\n") == ("second",)
    assert changed("\tsecond(NULL);\n", "\tfirst(NULL, NULL);\n\tsecond(NULL);\n") == ("third",)


def test_what_is_taken_out_was_in_the_function_that_is_left():
    assert changed("\tif (result)\n\t\treturn result;\n", "") == ("second",)
    assert changed("\tsecond(NULL);\n", "") == ("third",)
    assert changed("\tint result;\n\n", "") == ("second",)


def test_a_new_function_counts_and_what_is_outside_of_functions_does_not():
    new = "static void fourth(void)\n{\n\tfirst(NULL, NULL);\n}\n\n/* Said of it. */\n"
    assert set(changed("/* Said of it. */\n", new)) in ({"fourth"}, {"first", "fourth"})
    assert changed("\tint field;\n", "\tlong field;\n") == ()
    assert changed("\t.open = open,\n", "") == ()
    assert changed("/* Said of it. */\n", "") == ()
    assert changed_functions(SOURCE, SOURCE) == ()
