from pathlib import Path

import pytest

from kernel.fragments import check_granted, digest, fragments, known_variants, renamed, requests
from kernel.kernel import BuildFailed


def fragment(directory: Path, text: str, name: str = "f.config") -> tuple[Path, ...]:
    (directory / name).write_text(text)
    return (directory / name,)


def test_a_request_that_did_not_survive_is_named_with_fragment_and_line(tmp_path: Path) -> None:
    wanted = requests(fragment(tmp_path, "# why\nCONFIG_A=y\nCONFIG_B=y\n"))
    with pytest.raises(BuildFailed, match=r"f\.config line 3: requested CONFIG_B=y, got n"):
        check_granted(wanted, "CONFIG_A=y\n# CONFIG_B is not set\n")


def test_an_option_the_kernel_does_not_know_did_not_survive(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="CONFIG_A=y, got n"):
        check_granted(requests(fragment(tmp_path, "CONFIG_A=y\n")), "")


def test_another_value_did_not_survive(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match='CONFIG_A="x", got "y"'):
        check_granted(requests(fragment(tmp_path, 'CONFIG_A="x"\n')), 'CONFIG_A="y"\n')


def test_a_request_for_no_is_kept_by_silence_and_broken_by_yes(tmp_path: Path) -> None:
    wanted = requests(fragment(tmp_path, "# CONFIG_A is not set\n"))
    assert check_granted(wanted, "") == ()
    with pytest.raises(BuildFailed, match="CONFIG_A=n, got y"):
        check_granted(wanted, "CONFIG_A=y\n")


def test_an_optional_request_may_be_missing_and_is_reported(tmp_path: Path) -> None:
    wanted = requests(fragment(tmp_path, "# optional\nCONFIG_A=y\nCONFIG_B=y\n"))
    assert check_granted(wanted, "CONFIG_B=y\n") == ("CONFIG_A",)
    with pytest.raises(BuildFailed, match="line 3"):
        check_granted(wanted, "CONFIG_A=y\n")


def test_the_last_fragment_has_the_last_word(tmp_path: Path) -> None:
    both = fragment(tmp_path, "CONFIG_A=y\n") + fragment(tmp_path, "# CONFIG_A is not set\n", "g.config")
    (request,) = requests(both)
    assert (request.value, request.file) == ("n", "g.config")


def test_comments_do_not_change_the_digest_and_options_do(tmp_path: Path) -> None:
    plain = digest(requests(fragment(tmp_path, "CONFIG_A=y\n")))
    assert digest(requests(fragment(tmp_path, "# why\n\nCONFIG_A=y\n"))) == plain
    assert digest(requests(fragment(tmp_path, "CONFIG_A=m\n"))) != plain


def test_our_own_fragments_request_the_three_filesystems_and_the_log() -> None:
    values = {request.option: request.value for request in requests(fragments())}
    for name in ("BTRFS_FS", "EXT4_FS", "XFS_FS", "DM_LOG_WRITES", "HOSTFS", "BLK_DEV_UBD"):
        assert values[f"CONFIG_{name}"] == "y"


def test_an_architecture_has_its_own_fragment_in_the_same_place() -> None:
    assert [path.stem for path in fragments("um")] == ["base", "filesystems", "uml"]
    assert [path.stem for path in fragments("x86_64")] == ["base", "filesystems", "x86_64"]
    assert [path.stem for path in fragments("arm64")] == ["base", "filesystems", "arm64"]


def test_aarch64_has_the_pages_that_no_other_guest_has() -> None:
    values = {request.option: request.value for request in requests(fragments("arm64"))}
    assert values["CONFIG_ARM64_64K_PAGES"] == "y"


@pytest.mark.parametrize("variant", known_variants())
def test_a_variant_is_laid_over_the_rest_and_changes_what_is_requested(variant: str) -> None:
    assert fragments("um", (variant,))[-1].stem == variant
    assert digest(requests(fragments("um", (variant,)))) != digest(requests(fragments()))


def test_an_option_is_also_granted_under_its_newer_name(tmp_path: Path) -> None:
    wanted = requests(fragment(tmp_path, "CONFIG_PROC_SYSCTL=y\nCONFIG_A=y\n"))
    assert renamed(wanted) == "CONFIG_SYSCTL=y\n"
    assert check_granted(wanted, "CONFIG_SYSCTL=y\nCONFIG_A=y\n") == ()
    for refused in ("# CONFIG_PROC_SYSCTL is not set\nCONFIG_SYSCTL=y\n", "# CONFIG_SYSCTL is not set\n"):
        with pytest.raises(BuildFailed, match="CONFIG_PROC_SYSCTL=y, got n"):
            check_granted(wanted, f"{refused}CONFIG_A=y\n")
