// A full block of revoked blocks overwrites the last of them with its checksum
//
// re-creates: the class of db9ee220361d ("jbd2: fix descriptor block size handling errors with journal_csum") (in
//             v3.17)
// caught by:  mounts
// profiles: ext4-nodelalloc
// workloads: journaled-file-of-many-blocks-removed
// files: fs/jbd2/revoke.c
//
// What is changed. write_one_revoke_record() takes a block for full when not even a record without the checksum
// behind it would fit.
//
// Why it loses data. The last record of a full block stands where the checksum goes. Recovery finds a count that
// cannot be, and gives up: the filesystem cannot be mounted.
//
// Why it is silent otherwise. A block of 1 KiB takes 126 records of one transaction. Data have records only where
// they go through the journal and are then removed.

@@
expression journal, descriptor;
identifier offset, sz, csum_size;
@@
- offset + sz > journal->j_blocksize - csum_size
+ offset + sz > journal->j_blocksize
