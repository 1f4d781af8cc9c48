#!/bin/sh
# What mmdebstrap does with the root it made: quiet units, the disk image, the kernel of the first start.
#
# In:       $1, the root, with root/ and the keys in it.
# Out:      $1/out/ with disk.raw, vmlinuz and initrd.img.
# Not here: GRUB in the image's boot sector (image.py, at the first start).
set -eu
root=$1
size_mib=2048 # twice what Debian takes

chroot "$root" systemctl -q enable ssh.service machine-network.service
chroot "$root" systemctl -q disable lvm2-monitor.service blk-availability.service grub-common.service
chroot "$root" systemctl -q mask \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    fstrim.timer mdcheck_start.timer mdcheck_continue.timer mdmonitor-oneshot.timer xfs_scrub_all.timer \
    getty.target getty-static.service ssh.socket sshd-keygen.service modprobe@.service \
    dev-hugepages.mount dev-mqueue.mount sys-fs-fuse-connections.mount sys-kernel-config.mount \
    proc-sys-fs-binfmt_misc.automount systemd-binfmt.service \
    systemd-udev-load-credentials.service systemd-udev-settle.service
# The root disk is a plain partition: no volume manager before it. Each of mdadm's modules measures its speed.
for package in btrfs cryptroot cryptroot-unlock dmsetup lvm2 mdadm; do
    find "$root/usr/share/initramfs-tools" -name "$package" -type f -exec chmod -x {} +
done
mkdir -p "$root/etc/systemd/system-generators"
for name in debug getty gpt-auto hibernate-resume rc-local run ssh system-update sysv tpm2; do
    ln -s /dev/null "$root/etc/systemd/system-generators/systemd-$name-generator"
done
chroot "$root" update-initramfs -u
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*

# Beside the root, since it cannot hold its own image; and of the root alone, without what is mounted there.
mkdir "$root.plain"
mount --bind "$root" "$root.plain"
truncate -s "${size_mib}M" "$root.disk"
mke2fs -q -t ext4 -L machine-root -E offset=1048576 -d "$root.plain" "$root.disk" "$((size_mib - 1))M"
umount "$root.plain"
rmdir "$root.plain"

mkdir "$root/out"
mv "$root.disk" "$root/out/disk.raw"
echo '2048,,L,*' | chroot "$root" sfdisk -q /out/disk.raw
cp "$root"/boot/vmlinuz-* "$root/out/vmlinuz"
cp "$root"/boot/initrd.img-* "$root/out/initrd.img"
