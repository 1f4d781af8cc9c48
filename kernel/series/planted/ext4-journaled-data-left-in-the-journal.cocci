// The journal keeps the data of a file that no longer writes through it, and recovery writes it over newer data
//
// re-creates: "flushing is expensive" at the wrong place, written for an unseen set of mutants
// caught by:  durable
// profiles: ext4-nodelalloc
// workloads: journaled-data-then-written-in-place
// files: fs/ext4/inode.c
//
// What is changed. ext4_change_inode_journal_flag() flushes the journal for a file that gives its flag back only if the file has dirty
// pages. After an fsync it has none.
//
// Why it loses what was durable. The copies in the journal are older than what is written in place from then on, and nothing revokes
// them. Recovery puts them over newer data that was fsynced.
//
// Why it is silent otherwise. Nothing reads the journal but recovery, and a third of it must be used before its tail moves.

@@
expression journal, e;
@@
ext4_change_inode_journal_flag(...)
{
<...
-		e = jbd2_journal_flush(journal, 0);
+		e = 0;
+		if (mapping_tagged(inode->i_mapping, PAGECACHE_TAG_DIRTY))
+			e = jbd2_journal_flush(journal, 0);
...>
}
