# A headless Chromium by its own protocol (DevTools), and programs of ours beside it, for the tests of the page. Sourced.
# shellcheck shell=bash
die() {
  printf 'page: %s\n' "$*" >&2
  exit 1
}
chromium=
for each in chromium-headless-shell chromium chromium-browser google-chrome; do
  [ -n "$chromium" ] || chromium=$(command -v "$each" || true)
done
[ -n "$chromium" ] || die 'no Chromium here; Debian has one without windows as chromium-headless-shell'
work=$(mktemp -d)
browsers='' programs=()
finish() {
  local each
  for each in "${programs[@]}"; do { kill "$each" && wait "$each"; } 2>/dev/null || true; done
  # The browser and all its helpers; one that nobody has waited for would count as running.
  local until=$((SECONDS + 10))
  while [ -n "$browsers" ] && kill -- "-$browsers" 2>/dev/null; do
    [ $SECONDS -lt $until ] || { kill -KILL -- "-$browsers" 2>/dev/null || true; break; }
    wait "$browsers" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap finish EXIT

# run_program LOG TEXT COMMAND…: in the background, until it has said the text; its number is in $started
run_program() {
  local log=$1 text=$2
  shift 2
  : >"$log"
  "$@" >"$log" 2>&1 &
  started=$!
  programs+=("$started")
  until grep -q "$text" "$log"; do
    kill -0 "$started" 2>/dev/null || { cat "$log" >&2; die "$1 $2 has ended"; }
    read -rt 0.05 <> <(:) || true
  done
}
# end_program NUMBER WHAT
end_program() {
  kill "$1" && wait "$1" || die "$2 did not end well"
  local each left=()
  for each in "${programs[@]}"; do [ "$each" = "$1" ] || left+=("$each"); done
  programs=("${left[@]}")
}

# Over descriptors 3 and 4: JSON, each message with a zero byte at its end.
asked=0 session='' answer=''
open_browser() {
  coproc browser {
    exec setsid "$chromium" --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir="$work/profile" \
      --window-size=1280,800 --remote-debugging-pipe 3<&0 4>&1 </dev/null >"$work/log" 2>&1
  }
  browsers=$browser_PID
  exec {to}>&"${browser[1]}" {from}<&"${browser[0]}"
  ask Target.createTarget '{"url":"about:blank"}'
  ask Target.attachToTarget "{\"targetId\":\"$(part targetId)\",\"flatten\":true}"
  session=$(part sessionId)
}
close_browser() {
  session=''
  ask Browser.close
}
# ask METHOD [PARAMETERS]: its result is in $answer
ask() {
  local parameters=${2:-} line
  asked=$((asked + 1))
  printf '{"id":%s,"method":"%s","params":%s%s}\0' $asked "$1" "${parameters:-"{}"}" "${session:+,\"sessionId\":\"$session\"}" >&"$to"
  while IFS= read -r -d '' -t 60 -u "$from" line; do
    case $line in
      "{\"id\":$asked,\"error\""*) die "$1: $line" ;;
      "{\"id\":$asked,"*)
        answer=$line
        return
        ;;
    esac
  done
  tail -n 3 "$work/log" >&2
  die "the browser does not answer $1"
}
# part NAME: of the answer, a text without quotes in it
part() { sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p" <<<"$answer"; }

# evaluate SCRIPT: JavaScript, whose value is then in the answer
evaluate() {
  local script=${1//\\/\\\\}
  script=${script//\"/\\\"}
  script=${script//$'\n'/\\n}
  ask Runtime.evaluate "{\"awaitPromise\":true,\"returnByValue\":true,\"expression\":\"$script\"}"
}
# number SCRIPT: a value that is a number, on standard output
number() {
  evaluate "$1"
  sed -n 's/.*"value":\(-\{0,1\}[0-9.e+-]*\).*/\1/p' <<<"$answer"
}
# shows WHAT CONDITION: the page comes to be so, within 20 s. text() is what is written in an element, row() the row of the
# job of that name, cells() what is written in it.
readonly helpers="const text = (selector) => document.querySelector(selector)?.textContent ?? '';
  const row = (name) => [...document.querySelectorAll('#rows .row:not([hidden])')].find(each => each.querySelector('a').textContent === name);
  const cells = (name) => row(name)?.textContent ?? '';"
shows() {
  evaluate "new Promise(done => { const end = Date.now() + 20000; $helpers
    const so = () => { try { return Boolean($2); } catch { return false; } };
    const look = () => { const is = so(); is || Date.now() > end ? done(is) : setTimeout(look, 20); }; look(); })"
  case $answer in
    *'"value":true'*) echo "page: shows $1" ;;
    *)
      evaluate 'document.documentElement.outerHTML.slice(0, 20000)'
      printf '%s\n' "$answer" >&2
      die "does not show $1"
      ;;
  esac
}
# act WHAT SCRIPT: done at once
act() {
  evaluate "{ $helpers $2 }"
  case $answer in *exceptionDetails*) die "$1: $answer" ;; esac
}
# press KEY CODE [TEXT]: as a person does
press() {
  local more=${3:+,\"text\":\"$3\"}
  ask Input.dispatchKeyEvent "{\"type\":\"keyDown\",\"key\":\"$1\",\"code\":\"$1\",\"windowsVirtualKeyCode\":$2$more}"
  ask Input.dispatchKeyEvent "{\"type\":\"keyUp\",\"key\":\"$1\",\"code\":\"$1\",\"windowsVirtualKeyCode\":$2}"
}
# look_like WIDTH HEIGHT light|dark
look_like() {
  ask Emulation.setDeviceMetricsOverride "{\"width\":$1,\"height\":$2,\"deviceScaleFactor\":1,\"mobile\":false}"
  ask Emulation.setEmulatedMedia "{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"$3\"}]}"
}
# picture NAME: into $pictures, if anybody wants them
picture() {
  [ -n "${pictures:-}" ] || return 0
  ask Page.captureScreenshot
  part data | base64 -d >"$pictures/$1.png"
}
# accessible WHAT: contrast, names, roles, sizes of what is to be seen (accessible.js)
accessible() {
  evaluate "$(<test/browser/accessible.js)"
  case $answer in
    *'"value":""'*) echo "page: accessible: $1" ;;
    *) die "$1: $answer" ;;
  esac
}
