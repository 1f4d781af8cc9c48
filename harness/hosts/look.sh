# What this machine is and what is on its block devices: one record a line, fields with tabs between them.
# It only reads. Parsed by look.py. It starts few processes: where processors are slow, each costs.
PATH=$PATH:/usr/sbin:/sbin
# Links come and go while udev looks at a device that was written.
udevadm settle --timeout=30 2>/dev/null
export LC_ALL=C
say() { printf '%s\t%s\n' "$1" "$2"; }
one_line() (
	set -f
	IFS='
'
	printf '%s ' $1
)

say clock "$(date +%s)"
kernel=$(uname -r)
say kernel "$kernel"
say architecture "$(uname -m)"
say processors "$(nproc)"
sed -n 's/^MemTotal: *\([0-9]*\) kB/memory_kib\t\1/p' /proc/meminfo
# Of the auxiliary vector, pairs of words (getauxval(3)): 6 is AT_PAGESZ.
od -An -v -t u8 /proc/self/auxv | awk '$1 == 6 { printf "page_kib\t%d\n", $2 / 1024 }'
read -r machine_id </etc/machine-id
say machine_id "$machine_id"
for module in dm_mod dm_log_writes dm_flakey dm_snapshot dm_delay dm_dust brd loop; do
	[ -d /sys/module/$module ] && say module $module
done
grep -ohE '/(dm-mod|dm-log-writes|dm-flakey|dm-snapshot|dm-delay|dm-dust|brd|loop)\.ko' \
	"/lib/modules/$kernel/modules.dep" "/lib/modules/$kernel/modules.builtin" 2>/dev/null | sed 's/^/module\t/'
sed 's/^/mount\t/' /proc/1/mountinfo
sed '1d; s/^/swap\t/' /proc/swaps
# mountinfo names one device of a btrfs, with a number that is no block device's.
for device in /sys/fs/btrfs/*/devices/*; do
	[ -e "$device" ] && say btrfs "${device##*/}"
done
[ -d /dev/disk/by-id ] && find /dev/disk/by-id -type l -printf 'link\t%f\t%l\n'
# Where a mount or swap names a path that is a link, as device mapper's do.
for path in $(sed -n 's/.* - [^ ]* \(\/dev\/[^ ]*\) .*/\1/p' /proc/1/mountinfo; sed -n 's/^\(\/dev\/[^ ]*\) .*/\1/p' /proc/swaps); do
	[ -L "$path" ] && printf 'path\t%s\t%s\n' "$path" "$(readlink -f "$path")"
done
command -v wipefs >/dev/null && say tool wipefs
for part in /sys/block/*/*/partition; do
	[ -e "$part" ] || continue
	part=${part%/partition}
	disk=${part%/*}
	printf 'block\t%s\tparent\t%s\n' "${part##*/}" "${disk##*/}"
done

for device in /sys/class/block/*; do
	name=${device##*/}
	case $name in ram* | sr* | fd*) continue ;; esac
	read -r sectors <"$device/size" || continue
	[ "$sectors" = 0 ] && continue
	of() { printf 'block\t%s\t%s\t%s\n' "$name" "$1" "$2"; }
	# By the shell, which strips spaces at both ends. A value may lack its newline, as virtio's serial does.
	value() {
		value=
		[ -r "$device/$2" ] && { read -r value <"$device/$2" || [ -n "$value" ]; } && of "$1" "$value"
	}
	value number dev
	value sectors size
	value read_only ro
	value removable removable
	value partition partition
	value rotational queue/rotational
	value write_cache queue/write_cache
	value zoned queue/zoned
	value block_bytes queue/logical_block_size
	value model device/model
	value dm_name dm/name
	value dm_uuid dm/uuid
	value md_level md/level
	value backing_file loop/backing_file
	# Of NVMe and MMC, of virtio, of SCSI and SATA (VPD page 80h, behind its head of 4 bytes).
	if [ -r "$device/device/serial" ]; then
		value serial device/serial
	elif [ -r "$device/serial" ]; then
		value serial serial
	elif [ -r "$device/device/vpd_pg80" ]; then
		of serial "$(tail -c +5 "$device/device/vpd_pg80" | tr -d '\000\t\n')"
	fi
	for what in holders slaves; do
		for other in "$device/$what"/*; do
			[ -e "$other" ] && of $what "${other##*/}"
		done
	done
	if [ -b "/dev/$name" ]; then
		signatures=$(wipefs -J -n "/dev/$name" 2>/dev/null)
		[ -n "$signatures" ] && of signatures "$(one_line "$signatures")"
		# What wipefs does not know: a claim of ours (token.py).
		if [ "$(head -c 15 "/dev/$name" 2>/dev/null | tr -d '\000')" = "powercut-claim " ]; then
			of token "$(head -c 512 "/dev/$name" | tr -d '\000\t' | tr '\n' '|')"
		fi
	fi
done
exit 0
