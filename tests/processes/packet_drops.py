"""Packets to and from a port on loopback that vanish, as behind a firewall that forgot a connection.

It takes a network namespace of the run's own, and the right to filter packets in it. Where one of them is missing, nothing
here does anything, and is_possible() is False.
"""

import os
import subprocess
import sys

_ENTERED = "LOCKSTEP_TESTS_OWN_NETWORK"
# For root; and for anybody whom the kernel lets be root in a namespace of users.
_NAMESPACES = (("--net",), ("--user", "--map-root-user", "--net"))
# Loopback is down in a new namespace.
_LOOPBACK_THEN = ("sh", "-c", 'ip link set lo up && exec "$@"', "sh")


def enter_own_network():
    """Starts this program again in a network namespace, if packets can be dropped there. To be called first of all."""
    if _ENTERED in os.environ:
        return
    for namespace in _NAMESPACES:
        if _works(namespace):
            os.environ[_ENTERED] = "1"
            os.execvp("unshare", ("unshare", *namespace, *_LOOPBACK_THEN, sys.executable, *sys.argv))


def is_possible():
    return _ENTERED in os.environ


def drop(port):
    _change("--insert", port)


def let_pass(port):
    _change("--delete", port)


def _change(how, port):
    for side in ("--dport", "--sport"):
        subprocess.run(_filter(how, side, port), check=True)


def _filter(how, side, port):
    return ("iptables", "--wait", how, "INPUT", "--protocol", "tcp", side, str(port), "--jump", "DROP")


def _works(namespace):
    probe = ("unshare", *namespace, *_LOOPBACK_THEN, *_filter("--insert", "--dport", 9))
    try:
        return subprocess.run(probe, capture_output=True, check=False, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
