// Recovery writes its nodes somewhere else than over the nodes that it recovers from
//
// files: fs/f2fs/segment.c
//
// A fix of our own for F2FS-10, to show the cause, and not to be taken: nodes of fsyncs that fill more than the rest
// of a segment go on in another, which the new one may be.

@@
identifier i;
@@
  f2fs_allocate_new_segments(...)
  {
  <...
- i <= CURSEG_COLD_DATA
+ i <= CURSEG_COLD_NODE
  ...>
  }

@@
identifier i, sbi;
@@
  f2fs_allocate_new_segments(...)
  {
  <...
- __allocate_new_segment(sbi, i, false, false)
+ __allocate_new_segment(sbi, i, false, i == CURSEG_WARM_NODE)
  ...>
  }
