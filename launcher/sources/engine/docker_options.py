"""Which options of docker, podman and nerdctl take a value: ``run``, ``create``, ``exec``, and those before them.

From ``docker run --help`` of Docker 28, and the manual pages podman-run(1), podman-exec(1), podman(1) and nerdctl's
command reference. An option of one is read for the others too: ``docker`` is often another name of podman.
"""

from __future__ import annotations


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_SWITCHES = _set(
    """
    --detach --disable-content-trust --help --init --interactive --no-healthcheck --oom-kill-disable --privileged
    --publish-all --quiet --read-only --rm --sig-proxy --tty --use-api-socket
    --env-host --http-proxy --latest --no-hostname --no-hosts --passwd --read-only-tmpfs --replace --rmi --rootfs
    --tls-verify --unsetenv-all
    --insecure-registry --no-stdin
    """
)
_VALUED = _set(
    """
    --add-host --annotation --attach --blkio-weight --blkio-weight-device --cap-add --cap-drop --cgroup-parent
    --cgroupns --cidfile --cpu-count --cpu-percent --cpu-period --cpu-quota --cpu-rt-period --cpu-rt-runtime
    --cpu-shares --cpus --cpuset-cpus --cpuset-mems --detach-keys --device --device-cgroup-rule --device-read-bps
    --device-read-iops --device-write-bps --device-write-iops --dns --dns-opt --dns-option --dns-search --domainname
    --entrypoint --env --env-file --expose --gpus --group-add --health-cmd --health-interval --health-retries
    --health-start-interval --health-start-period --health-timeout --hostname --io-maxbandwidth --io-maxiops --ip --ip6
    --ipc --isolation --kernel-memory --label --label-file --link --link-local-ip --log-driver --log-opt --mac-address
    --memory --memory-reservation --memory-swap --memory-swappiness --mount --name --net --net-alias --network
    --network-alias --oom-score-adj --pid --pids-limit --platform --publish --pull --restart --runtime --security-opt
    --shm-size --stop-signal --stop-timeout --storage-opt --sysctl --tmpfs --ulimit --user --userns --uts --volume
    --volume-driver --volumes-from --workdir
    --arch --authfile --cert-dir --cgroup-conf --cgroups --chrootdirs --conmon-pidfile --creds --decryption-key
    --env-merge --gidmap --group-entry --health-log-destination --health-max-log-count --health-max-log-size
    --health-on-failure --health-startup-cmd --health-startup-interval --health-startup-retries
    --health-startup-success --health-startup-timeout --hooks-dir --hosts-file --hostuser --image-volume --init-ctr
    --init-path --os --override-arch --override-os --override-variant --passwd-entry --personality --pidfile --pod
    --pod-id-file --preserve-fd --preserve-fds --rdt-class --requires --retry --retry-delay --sdnotify --seccomp-policy
    --secret --shm-size-systemd --signature-policy --subgidname --subuidname --systemd --timeout --tz --uidmap --umask
    --unsetenv --variant
    --cosign-certificate-identity --cosign-certificate-identity-regexp --cosign-certificate-oidc-issuer
    --cosign-certificate-oidc-issuer-regexp --cosign-key --init-binary --ipfs-address --verify
    """
)
_SHORT_SWITCHES = frozenset("ditPq")
_SHORT_VALUED = frozenset("acehlmpuvw")

_GLOBAL_SWITCHES = _set(
    """
    --debug -D --tls --tlsverify --remote -r --syslog --transient-store --noout --debug-full --experimental
    --insecure-registry --kube-hide-dupe
    """
)
_GLOBAL_VALUED = _set(
    """
    --config --context -c --host -H --log-level -l --tlscacert --tlscert --tlskey
    --cgroup-manager --conmon --connection --events-backend --hooks-dir --identity --imagestore --module
    --network-cmd-path --network-config-dir --out --root --runroot --runtime --runtime-flag --ssh --storage-driver
    --storage-opt --tmpdir --url --volumepath
    --address -a --bridge-ip --cni-netconfpath --cni-path --data-root --host-gateway-ip --hosts-dir --namespace -n
    --snapshotter --userns-remap
    """
)


def takes_value(option: str) -> bool | None:
    """Return whether a long option of ``run`` or ``exec`` takes the next word; None where it is in no table."""
    if option in _SWITCHES:
        return False
    return True if option in _VALUED else None


def short_takes_value(letter: str, verb: str) -> bool | None:
    """Return whether a short option takes what follows it; None where it is in no table."""
    if letter in _SHORT_SWITCHES or (verb == "exec" and letter == "l"):  # podman exec -l: the latest container
        return False
    return True if letter in _SHORT_VALUED else None


def global_takes_value(option: str) -> bool | None:
    """Return whether an option before the verb takes the next word; None where it is in no table."""
    if option in _GLOBAL_SWITCHES:
        return False
    return True if option in _GLOBAL_VALUED else None
