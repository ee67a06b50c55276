// SPDX-License-Identifier: GPL-3.0-or-later
//! Where a tracepoint's record holds a field, from the text of its `format` file in tracefs.

/// The offset in bytes of `field`: of the line `field:TYPE NAME; offset:N; …`, an array's name without its bounds.
pub fn offset(format: &str, field: &str) -> Option<usize> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let declared = parts.next()?.rsplit([' ', '\t', '*']).next()?;
        let name = declared.split('[').next()?;
        let offset = parts.find_map(|part| part.strip_prefix("offset:"))?;
        if name == field { offset.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK_NEWTASK: &str = "name: task_newtask\nID: 103\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n\
        \tfield:char comm[16];\toffset:12;\tsize:16;\tsigned:0;\n\
        \tfield:unsigned long clone_flags;\toffset:32;\tsize:8;\tsigned:0;\n\
        \tfield:void *tasklet;\toffset:40;\tsize:8;\tsigned:0;\n\n\
        print fmt: \"pid=%d\", REC->pid\n";

    #[test]
    fn fields_as_tracefs_prints_them() {
        for (field, expected) in [
            ("common_type", Some(0)),
            ("pid", Some(8)),
            ("comm", Some(12)),
            ("clone_flags", Some(32)),
            ("tasklet", Some(40)),
            ("flags", None),
            ("", None),
        ] {
            assert_eq!(offset(TASK_NEWTASK, field), expected, "{field}");
        }
        assert_eq!(offset("field:int x; offset:abc;", "x"), None);
        assert_eq!(offset("", "x"), None);
    }
}
