#!/bin/sh
# Installs what rtl-agent needs, once: system packages with apt-get, Python packages in .venv. Silent when all is there.
# With --quick only what `make test-quick` needs: Python packages without torch, no tools.
# With --browser only what the tests of the page need, with --page what rebuilds the page too; with --containers only
# the engines that the tests of the sandboxes docker and podman start for themselves.
set -eu
cd "$(dirname "$0")/.."
venv=.venv
stamp=$venv/setup.stamp

say() { printf 'rtl-agent: %s\n' "$*"; }
fail() { printf 'rtl-agent: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# What the stamp must say for the set-up to be current.
wanted() {
    pwd
    "$venv/bin/python" -I -S -V
    echo "${RTL_AGENT_HOME:-}"
    (
        cat pyproject.toml requirements-dev.lock scripts/setup.sh
        cd rtl_agent/toolchain && cat pins.py home.py icarus*.py yosys.py launcher/*
    ) | sha256sum
}

# The programs that are missing, in the words of Debian's package names. Adds to $packages and $programs.
need() { packages="$packages $1"; programs="$programs${programs:+, }$2"; }
find_missing() {
    packages='' programs=''
    { has iverilog && has vvp; } || need iverilog "iverilog (Icarus Verilog 11 or newer)"
    has bwrap || need bubblewrap "bwrap (bubblewrap)"
    has yosys || need yosys "yosys"
    { has cc && has c++; } || need g++ "cc and c++ (a C and a C++ compiler)"
}

# Debian's browser, or one that is here. Without a font it draws nothing.
has_browser() { has "${RTL_AGENT_BROWSER:-chromium}" || has chromium-browser || has google-chrome || has google-chrome-stable; }
find_missing_for_page() {
    packages='' programs=''
    has_browser || need "chromium fonts-dejavu-core" "chromium (or google-chrome, or another that RTL_AGENT_BROWSER names)"
    [ "$mode" = --browser ] || { has node && has npm; } || need "nodejs npm" "node and npm"
}

find_missing_for_containers() {
    packages='' programs=''
    { has dockerd && has runc; } || need "docker.io runc" "dockerd"
    { has podman && has conmon; } || need "podman conmon" "podman"
}

find_python() {
    found=''
    for python in python3 python3.13 python3.12 python3.11; do
        has "$python" || continue
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && return
        found="$found${found:+, }$("$python" -V 2>&1 | head -n 1)"
    done
    fail "Python 3.11 or newer is needed, as python3 or python3.11 ... on PATH; found: ${found:-none}."
}

# Slower questions, asked only when something is to be installed anyway.
find_missing_for_python() {
    has perl && perl -e 'use Pod::Usage' 2>/dev/null || need perl "perl with Pod::Usage (for Verilator)"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        minor=$("$python" -c 'import sys; print(sys.version_info[1])')
        need "python3.$minor-venv" "the venv and ensurepip modules of $python"
    fi
    if ! "$python" -m rtl_agent.toolchain.interpreter >/dev/null 2>&1; then
        minor=$(/usr/bin/python3 -c 'import sys; print(sys.version_info[1])' 2>/dev/null || echo 0)
        case $minor in
            11 | 12 | 13) need "libpython3.$minor" "libpython3.$minor (Python's shared library)" ;;
            *) need "python3 libpython3-dev" "a Python 3.11 to 3.13 with a shared libpython" ;;
        esac
    fi
}

install_packages() {
    [ -n "$packages" ] || return 0
    [ "$(uname -s)" = Linux ] || fail "rtl-agent needs Linux; missing here: $programs."
    has apt-get || fail "missing: $programs. There is no apt-get here: install them with your package manager, then run make again."
    sudo=''
    if [ "$(id -u)" -ne 0 ]; then
        has sudo || fail "missing: $programs. Not root and no sudo: have somebody run  apt-get install$packages"
        sudo=sudo
    fi
    say "installing with ${sudo:+sudo }apt-get (a minute or two):$packages"
    # A mirror of some other repository may be down; apt-get install says if that matters.
    $sudo apt-get update -qq >"$log" 2>&1 || true
    # shellcheck disable=SC2086 # a list of words
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=300 $packages >>"$log" 2>&1 </dev/null || {
        tail -n 8 "$log" >&2
        fail "apt-get could not install:$packages"
    }
    "$find"
    [ -z "$programs" ] || fail "still missing after apt-get: $programs."
}

# The extras in $1, in the versions of the lock file.
install_python() {
    # The scripts of a .venv name its place: in a checkout that was moved they start nothing.
    if ! grep -qsF "$(pwd)/$venv/bin/" "$venv/bin/pip" || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        say "making $venv with $("$python" -V)"
        # share/ stays: the harness environments stand on a Python of their own.
        rm -rf "$venv/bin" "$venv/lib" "$venv/lib64" "$venv/include" "$venv/pyvenv.cfg"
        "$python" -m venv "$venv" >"$log" 2>&1 || { cat "$log" >&2; fail "$python could not make $venv."; }
    fi
    say "installing Python packages in $venv${2:+, $2}"
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check -c requirements-dev.lock -e ".[$1]" >"$log" 2>&1 </dev/null || {
        tail -n 25 "$log" >&2
        fail "pip could not install the packages that pyproject.toml names."
    }
}

# CVDP's tools. Where its Icarus cannot be unpacked and what a build needs is not here (3), that is installed first.
install_tools() {
    "$venv/bin/python" -m rtl_agent.toolchain.install && return
    [ $? -eq 3 ] || exit 1
    packages=" $("$venv/bin/python" -m rtl_agent.toolchain.icarus_install)" programs="what builds Icarus"
    (install_packages) || say "Icarus cannot be built without them; the system's is used."
    "$venv/bin/python" -m rtl_agent.toolchain.install || [ $? -eq 3 ] || exit 1
}

mode=${1:-} find=find_missing
if [ "$mode" = --browser ] || [ "$mode" = --page ] || [ "$mode" = --containers ]; then
    find=find_missing_for_page tests="of the page (tests/view)"
    [ "$mode" != --containers ] || find=find_missing_for_containers tests="of the sandboxes docker and podman"
    "$find"
    [ -n "$packages" ] || exit 0
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    # Everything else can be tested without.
    (install_packages) || say "the tests $tests will fail without: $programs."
    exit 0
fi
if [ "$mode" = --quick ]; then
    [ -x "$venv/bin/pytest" ] && exit 0
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    find_python
    install_python dev
    exit 0
fi
find_missing
if [ -z "$packages" ] && [ -f "$stamp" ] && [ "$(wanted 2>/dev/null)" = "$(cat "$stamp")" ]; then
    exit 0
fi
mkdir -p "$venv"
if has flock; then
    exec 9>"$venv/setup.lock"
    flock -n 9 || { say "another set-up is running here; waiting for it"; flock 9; }
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
find_python
find_missing_for_python
install_packages
install_python dev,train "torch among them (about three minutes)"
install_tools
wanted >"$stamp"
say "set-up is done"
