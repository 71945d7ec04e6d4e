# Serves /hello and /large (262144 bytes) on port 8080.
b=/bin/busybox
$b mkdir -p /tmp/www && cd /tmp/www || exit 1
echo hello >hello
$b dd if=/dev/zero bs=65536 count=4 2>/dev/null | $b tr '\0' x >large
exec $b httpd -f -p 8080 -h /tmp/www
