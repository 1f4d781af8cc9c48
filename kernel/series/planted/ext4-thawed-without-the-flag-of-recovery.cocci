// ext4 does not say that its journal has to be replayed when it is thawed
//
// re-creates: no single fix: what ext4_unfreeze() is for (fs/ext4/super.c, "Reset the needs_recovery flag before the fs
//             is unlocked"). Freezing makes the filesystem clean.
// caught by:  durable
// profiles:   ext4
// workloads:  freeze-makes-all-durable frozen-after-fsyncs-into-reserved-blocks
// files: fs/ext4/super.c
//
// What is changed. The superblock keeps the state that freezing gave it: clean, with nothing to replay.
//
// Why it loses data. What is fsynced after the thaw stands in the journal. The next mount does not look there.
//
// Why it is silent otherwise. An unmount writes everything into its place. The tree that comes back is that of the moment
// of the freeze, and consistent.

@@
@@
ext4_unfreeze(...)
{
<...
- ext4_set_feature_journal_needs_recovery(...);
...>
}
