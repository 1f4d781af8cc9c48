// ext4 commits asynchronously only where the commit record has a checksum of the whole transaction
//
// profiles:   ext4-async-commit
// workloads:  append-fsync-repeated
// files: fs/ext4/super.c
//
// A fix of our own for EXT4-30 (docs/findings/EXT4-30.md).
//
// What is changed. With metadata_csum the journal has checksums of version 3, one for each block, and none of the
// transaction in its commit record, by which recovery could tell that blocks are missing. The feature ASYNC_COMMIT
// is left off there, so the commit record waits as it does without the mount option.
//
// How it was checked. With it the workloads above keep the promises that EXT4-30 breaks, on 6.12. On 7.2 it was not run.

@@
expression journal, compat, incompat;
@@
  jbd2_journal_set_features(journal, compat, 0,
- JBD2_FEATURE_INCOMPAT_ASYNC_COMMIT | incompat
+ (compat ? JBD2_FEATURE_INCOMPAT_ASYNC_COMMIT : 0) | incompat
  )
