mkdir -p /code/rtl && printf 'module fixed_priority_arbiter; endmodule\n' > /code/rtl/fixed_priority_arbiter.sv

unshare -Ur true && echo "GOT a user namespace"
unshare -m true && echo "GOT a mount namespace"
mount -t tmpfs none /mnt && echo "GOT a mount"
mount --bind /tmp /usr && echo "GOT a bind mount"
mknod /code/disk b 8 0 && echo "GOT a device"
chroot / true && echo "GOT chroot"
su -c true root < /dev/null && echo "GOT root"
cp /bin/bash /code/bash && chmod u+s /code/bash && /code/bash -p -c '[ $(id -u) = 0 ]' && echo "GOT root"
nsenter -t 1 -m true && echo "GOT another namespace"
echo x > /usr/bin/rtl_attack && echo "GOT /usr"
echo x > /etc/passwd && echo "GOT /etc"
insmod /code/bash && echo "GOT a module"
sysctl -w kernel.core_pattern=x && echo "GOT sysctl"
echo over
