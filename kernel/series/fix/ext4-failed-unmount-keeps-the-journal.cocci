// ext4 does not say that recovery is not needed when unmount could not write everything back
//
// profiles:   ext4
// workloads:  umount-makes-all-durable
// absent:     5.10 (ext4_handle_error() makes the superblock read-only there, which ext4_put_super() asks)
// absent:     7.2 (it asks ext4_emergency_state() there)
// files: fs/ext4/super.c
//
// A fix of our own for what FINDINGS.md tells ("An unmount that could not write everything back throws the journal
// away").
//
// What is changed. ext4_put_super() looks whether the journal is aborted, lets jbd2_journal_destroy() abort it, and
// clears the superblock's flag that recovery is needed unless it was aborted before or the superblock is read-only.
// It is not since d3476f3dad4a ("ext4: don't set SB_RDONLY after filesystem errors") (in v6.12, and in 6.1.y). Now a
// journal that could not be cleaned up counts as aborted.
//
// How it was checked. With it `run --faults umount-makes-all-durable --fs ext4` keeps every promise, on 6.1 and 6.12.

@@
identifier sb, err, aborted;
@@
  ext4_put_super(...)
  {
  <...
  if ((err < 0) && !aborted) {
  	ext4_abort(sb, ...);
+ 	aborted = 1;
  }
  ...>
  }
