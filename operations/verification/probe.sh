# Asks the questions in QUESTIONS, "NUMBER KIND TARGET [MORE]" separated by ;, and writes "NUMBER ok|no OUTPUT" for each.
# Asks again after a no: a new Service takes a moment. DOMAIN: the DNS domain of the cluster.
b=/bin/busybox

# Print the answer of a URL, http://HOST[:PORT]/PATH. With nc: to resolve names, a static wget needs libraries that
# images lack.
page() {
    rest=${1#http://}
    place=${rest%%/*}
    port=80
    [ "$place" = "${place#*:}" ] || port=${place#*:}
    $b printf 'GET /%s HTTP/1.0\r\nHost: %s\r\n\r\n' "${rest#*/}" "$place" | $b timeout 10 $b nc -w 4 "${place%:*}" "$port" |
        $b tr -d '\r'
}

# Succeed if the node's container runtime has one ready sandbox of a pod, and one running container in it.
containers() {
    sandbox=$(crictl pods --name "^$1\$" --state ready --quiet) || return 1
    echo "sandbox ${sandbox:-none}"
    running=$(crictl ps --pod "${sandbox:-none}" --state running --quiet | $b wc -l)
    echo "$running containers"
    [ "$running" -eq 1 ]
}

crictl() {
    $b timeout 10 $b chroot /node /usr/local/bin/crictl --runtime-endpoint unix:///run/containerd/containerd.sock "$@"
}

once() {
    case $1 in
    http)
        said=$(page "$2")
        echo "$said"
        case $said in HTTP/1.[01]\ 200\ *) ;; *) return 1 ;; esac
        ;;
    size) got=$(page "$2" | $b sed '1,/^$/d' | $b wc -c) && echo "$got bytes" && [ "$got" -eq "$3" ] ;;
    name) $b nslookup "$2" ;;
    ping) $b ping -c 1 -W 3 "$2" ;;
    udp) $b nslookup -type=a "-port=$3" "kubernetes.default.svc.${DOMAIN:-cluster.local}" "$2" ;;
    file) said=$($b cat "$2") && echo "$said" && [ "$said" = "$3" ] ;;
    env) eval "said=\${$2-}" && echo "$said" && [ "$said" = "$3" ] ;;
    there) [ -e "$2" ] ;;
    write) : >"$2" ;;
    containers) containers "$2" ;;
    open) $b timeout 8 $b nc -w 4 "$2" "$3" </dev/null ;;
    esac
}

echo "$QUESTIONS" | $b tr ';' '\n' | while read -r question; do
    set -- $question
    tries=4
    [ "$4" = once ] || [ "$5" = once ] && tries=1
    while :; do
        said=$(once "$2" "$3" "$4" 2>&1) && answer=ok || answer=no
        tries=$((tries - 1))
        [ $answer = ok ] || [ $tries -le 0 ] && break
        $b sleep 3
    done
    echo "$1 $answer $(echo "$said" | $b tail -n 1 | $b cut -c 1-120)"
done
echo done
