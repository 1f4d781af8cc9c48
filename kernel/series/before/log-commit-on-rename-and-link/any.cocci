// link and rename return only when what they logged is on disk
//
// upstream: 75b463d2b47a ("btrfs: do not commit logs and transactions during link and rename operations")
//   (in v5.10)
// files: fs/btrfs/tree-log.c fs/btrfs/tree-log.h fs/btrfs/inode.c
//
// What is taken out. A new name is logged when the inode or the directory it came from is in the log of
// this transaction, but the log is left for a later fsync to write. link, rename and exchange write it
// before they end their transaction, or commit the transaction where the log cannot tell of the name. So
// that they can, btrfs_log_new_name() says what it did, its log context belongs to its caller and stands on
// the list of those that wait for the log (no logging_new_name), and so a directory above that was logged
// with the name counts as logged, as it did before.
//
// Why it is sound. The log is written where the function itself pins it no longer, with the transaction
// handle still held, as fsync does. A context is off its list when btrfs_sync_log() returns, whatever it
// says; for an aborted transaction it is taken off here. Both names of an exchange lie in one subvolume and
// in one log transaction, because the log was pinned between them: the second sync finds it done.
//
// How it was checked. In the recorded log of renames and links after the fsync of a directory, each has one
// FLUSH and one FUA, and none without the change (harness/suite/test_before.py). generic/498's steps keep
// their promises on both sides (link-into-new-directory), and the library of workloads finds nothing that
// it does not find on the kernel without the change, but for one workload: btrfs makes a whiteout after it
// has logged the new name (FINDINGS.md), and the log that the rename now writes shows that.

@in_header@
parameter list PS;
@@
- void
+ int
btrfs_log_new_name(PS
+		   , struct btrfs_log_ctx *ctx
 );
+int btrfs_sync_new_name(struct btrfs_trans_handle *trans, struct btrfs_root *root,
+			int logged, struct btrfs_log_ctx *ctx);

@signature@
parameter list PS;
symbol ctx;
@@
- void
+ int
btrfs_log_new_name(PS
+		   , struct btrfs_log_ctx *ctx
 )
{
...
- struct btrfs_log_ctx ctx;
... when any
}

+/*
+ * To be called when the caller no longer pins the log. logged: what btrfs_log_new_name() returned for ctx.
+ * Not 0: the log cannot tell of it, the caller must commit the transaction.
+ */
+int btrfs_sync_new_name(struct btrfs_trans_handle *trans, struct btrfs_root *root,
+			int logged, struct btrfs_log_ctx *ctx)
+{
+	if (logged <= 0)
+		return logged;
+	if (TRANS_ABORTED(trans)) {
+		btrfs_remove_log_ctx(root, ctx);
+		return 0;
+	}
+	return btrfs_sync_log(trans, root, ctx);
+}

@told depends on signature@
expression E;
symbol ctx, true, out, log_pinned, ret, root;
@@
btrfs_log_new_name(...)
{
<...
(
 if (E)
- return;
+ goto out;
|
- ctx.logging_new_name = true;
|
- btrfs_log_inode_parent(
+ ret = btrfs_log_inode_parent(
  ...);
+ /* BTRFS_NO_LOG_SYNC: the log has nothing of it. */
+ ret = ret == BTRFS_NO_LOG_SYNC ? 0 : ret ?: 1;
|
 if (log_pinned)
 	btrfs_end_log_trans(root);
 free_extent_buffer(ctx.scratch_eb);
+return ret;
|
 if (log_pinned)
 	btrfs_end_log_trans(root);
+return ret;
)
...>
}

@given depends on signature@
identifier member;
symbol ctx;
@@
btrfs_log_new_name(...)
{
<...
(
- ctx.member
+ ctx->member
|
- &ctx
+ ctx
)
...>
}

@in_link@
identifier err;
@@
btrfs_link(...)
{
<+...
return err;
...+>
}

@link depends on in_link@
expression list ES;
identifier in_link.err;
symbol trans, root;
@@
btrfs_link(...)
{
+	struct btrfs_log_ctx log_ctx;
+	int logged = 0;
<...
(
-	btrfs_log_new_name(ES);
+	logged = btrfs_log_new_name(ES, &log_ctx);
|
	if (trans)
-		btrfs_end_transaction(trans);
+	{
+		int end_ret;
+
+		if (btrfs_sync_new_name(trans, root, logged, &log_ctx))
+			end_ret = btrfs_commit_transaction(trans);
+		else
+			end_ret = btrfs_end_transaction(trans);
+		err = err ?: end_ret;
+	}
)
...>
}

@rename@
expression list ES;
symbol trans, root, ret2;
@@
btrfs_rename(...)
{
+	struct btrfs_log_ctx log_ctx;
+	int logged = 0;
<...
(
-	btrfs_log_new_name(ES);
+	logged = btrfs_log_new_name(ES, &log_ctx);
|
-	ret2 = btrfs_end_transaction(trans);
+	if (btrfs_sync_new_name(trans, root, logged, &log_ctx))
+		ret2 = btrfs_commit_transaction(trans);
+	else
+		ret2 = btrfs_end_transaction(trans);
)
...>
}

@exchange@
expression list ES1, ES2;
symbol trans, root, dest, ret2;
@@
btrfs_rename_exchange(...)
{
+	struct btrfs_log_ctx old_log_ctx;
+	struct btrfs_log_ctx new_log_ctx;
+	int old_logged = 0;
+	int new_logged = 0;
<...
(
-	btrfs_log_new_name(ES1);
-	btrfs_log_new_name(ES2);
+	old_logged = btrfs_log_new_name(ES1, &old_log_ctx);
+	new_logged = btrfs_log_new_name(ES2, &new_log_ctx);
|
-	ret2 = btrfs_end_transaction(trans);
+	/* Both must be off their lists, so both are asked. */
+	old_logged = btrfs_sync_new_name(trans, root, old_logged, &old_log_ctx);
+	new_logged = btrfs_sync_new_name(trans, dest, new_logged, &new_log_ctx);
+	if (old_logged || new_logged)
+		ret2 = btrfs_commit_transaction(trans);
+	else
+		ret2 = btrfs_end_transaction(trans);
)
...>
}
