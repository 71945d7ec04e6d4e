# Asks the questions in QUESTIONS, "NUMBER KIND TARGET [MORE]" with ; between, and writes "NUMBER ok|no WHAT IT SAW" for
# each. A cluster that just got a Service takes a moment, so a no is asked again.
b=/bin/busybox

# The body behind a URL, http://HOST[:PORT]/PATH. By nc: a static wget wants libraries for names that images lack.
body() {
    rest=${1#http://}
    place=${rest%%/*}
    port=80
    [ "$place" = "${place#*:}" ] || port=${place#*:}
    $b printf 'GET /%s HTTP/1.0\r\nHost: %s\r\n\r\n' "${rest#*/}" "$place" | $b timeout 10 $b nc -w 4 "${place%:*}" "$port" |
        $b tr -d '\r' | $b sed '1,/^$/d'
}

once() {
    case $1 in
    http) said=$(body "$2") && [ -n "$said" ] && echo "$said" ;;
    size) got=$(body "$2" | $b wc -c) && echo "$got bytes" && [ "$got" -eq "$3" ] ;;
    name) $b nslookup "$2" ;;
    ping) $b ping -c 1 -W 3 "$2" ;;
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
