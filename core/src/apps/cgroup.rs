// SPDX-License-Identifier: GPL-3.0-or-later
//! What a cgroup's path says: whose container it is, or which service of systemd, by the names that Netdata gives them.

/// What a cgroup is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A container or a virtual machine.
    Container,
    /// A service of systemd.
    Service,
}

/// A cgroup that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// What it is.
    pub kind: Kind,
    /// What stands before its name.
    pub prefix: &'static str,
    /// Its name: a container's short id, where nothing else is known of it.
    pub name: &'a [u8],
}

/// How many digits of a container's id people are shown.
const SHORT: usize = 12;
/// How many it has.
const ID: usize = 64;

/// The cgroup's path of a text of `/proc/<pid>/cgroup`: of its hierarchies, which before version 2 are many, that which
/// tells most.
pub fn path(text: &[u8]) -> Option<&[u8]> {
    let paths =
        text.split(|byte| *byte == b'\n').filter_map(|line| line.splitn(3, |byte| *byte == b':').nth(2));
    // The first of the longest.
    paths.fold(
        None,
        |best: Option<&[u8]>, path| {
            if best.is_none_or(|best| path.len() > best.len()) { Some(path) } else { best }
        },
    )
}

/// What the cgroup of a path is; `None` when it is not drawn. What lies below a container is the container's.
pub fn named(path: &[u8]) -> Option<Named<'_>> {
    let mut found = None;
    let (mut parent, mut in_pods, mut in_system) = (&b""[..], false, false);
    for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
        in_pods |= part.starts_with(b"kubepods");
        found = container(parent, part, in_pods).or(found);
        in_system |= part == b"system.slice";
        let service = part.strip_suffix(b".service").filter(|_| in_system && found.is_none());
        found = service.map(|name| Named { kind: Kind::Service, prefix: "", name }).or(found);
        parent = part;
    }
    found
}

fn container<'a>(parent: &[u8], part: &'a [u8], in_pods: bool) -> Option<Named<'a>> {
    let called = |prefix, name| Some(Named { kind: Kind::Container, prefix, name });
    let scope = part.strip_suffix(b".scope").unwrap_or(part);
    if let Some(machine) = scope.strip_prefix(b"machine-qemu").filter(|_| scope.len() < part.len()) {
        // systemd writes a hyphen as `\x2d`; a number follows, and the name.
        let hyphen = br"\x2d";
        let after = machine.strip_prefix(hyphen)?;
        let end = after.windows(hyphen.len()).position(|bytes| bytes == hyphen)?;
        return called("qemu_", after.get(end + hyphen.len()..)?);
    }
    if let Some(machine) = scope.strip_prefix(b"machine-").filter(|_| scope.len() < part.len()) {
        return called("", machine);
    }
    if let Some(name) = part.strip_prefix(b"lxc.payload.") {
        return called("", name);
    }
    if matches!(parent, b"lxc" | b"lxc.payload") {
        return called("", part);
    }
    let id = scope.rsplit(|byte| *byte == b'-').next()?;
    let is_id = id.len() == ID && id.iter().all(u8::is_ascii_hexdigit);
    let is_monitor = scope.starts_with(b"libpod-conmon-") || scope.starts_with(b"crio-conmon-");
    if !is_id || is_monitor {
        return None;
    }
    called(if in_pods { "k8s_" } else { "" }, id.get(..SHORT)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn paths_of_containers_and_services() {
        for (path, expected) in [
            ("/docker/<id>", "c 0123456789ab"),
            ("/system.slice/docker-<id>.scope", "c 0123456789ab"),
            ("/system.slice/docker-<id>.scope/init/x.service", "c 0123456789ab"),
            ("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-<id>.scope", "c 0123456789ab"),
            ("/machine.slice/libpod-<id>.scope/container", "c 0123456789ab"),
            ("/libpod_parent/libpod-<id>", "c 0123456789ab"),
            ("/machine.slice/libpod-conmon-<id>.scope", ""),
            ("/system.slice/crio-conmon-<id>.scope", ""),
            ("/kubepods/besteffort/pod0d206349-0faf-445c-8c3f-2d2153784f15/<id>", "c k8s_0123456789ab"),
            (
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0d206349_0faf.slice/cri-containerd-<id>.scope",
                "c k8s_0123456789ab",
            ),
            ("/kubepods.slice/kubepods-pod1.slice/crio-<id>.scope", "c k8s_0123456789ab"),
            ("/kubepods.slice/kubepods-besteffort.slice", ""),
            ("/lxc/web", "c web"),
            ("/lxc/web/system.slice/nginx.service", "c web"),
            ("/lxc.payload/web", "c web"),
            ("/lxc.payload.web/init.scope", "c web"),
            ("/lxc.monitor.web", ""),
            (r"/machine.slice/machine-qemu\x2d3\x2ddebian12.scope", "c qemu_debian12"),
            (r"/machine.slice/machine-qemu\x2d3\x2ddebian12.scope/libvirt/emulator", "c qemu_debian12"),
            ("/machine.slice/machine-arch.scope", "c arch"),
            ("/system.slice/nginx.service", "s nginx"),
            ("/system.slice/system-getty.slice/getty@tty1.service", "s getty@tty1"),
            ("/system.slice/nginx.service/worker", "s nginx"),
            ("/user.slice/user-1000.slice/user@1000.service/app.slice/x.service", ""),
            ("/init.scope", ""),
            ("/", ""),
            ("", ""),
            ("/docker/0123", ""),
        ] {
            let path = path.replace("<id>", HEX);
            let seen = named(path.as_bytes()).map_or(String::new(), |named| {
                let kind = if named.kind == Kind::Service { 's' } else { 'c' };
                format!("{kind} {}{}", named.prefix, String::from_utf8_lossy(named.name))
            });
            assert_eq!(seen, expected, "{path}");
        }
    }

    #[test]
    fn the_path_of_a_process() {
        for (text, expected) in [
            ("0::/system.slice/x.service\n", Some("/system.slice/x.service")),
            ("12:pids:/docker/a\n1:name=systemd:/docker/a/b\n0::/\n", Some("/docker/a/b")),
            ("4:cpu,cpuacct:/\n", Some("/")),
            ("0::/a:b\n", Some("/a:b")),
            ("", None),
            ("x\n", None),
        ] {
            assert_eq!(path(text.as_bytes()), expected.map(str::as_bytes), "{text}");
        }
    }
}
