// Replay of fast commits ends with the last block of their area
//
// files: fs/jbd2/recovery.c
//
// A fix of our own for EXT4-25: j_fc_last is the first block behind the area.

@@
expression next_fc_block, journal;
@@
- next_fc_block <= journal->j_fc_last
+ next_fc_block < journal->j_fc_last
