// SPDX-License-Identifier: GPL-3.0-or-later
//! promtool, and a Prometheus that scrapes a node_exporter that reads textfiles, all on loopback.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::support::machine::{Folder, holds_within};
use crate::support::run::LONG;

/// Expects that promtool finds nothing wrong with metrics in the text format.
pub fn promtool(text: &str) {
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("promtool comes with Debian's prometheus");
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}\n{text}");
}

/// Reads OpenMetrics as promtool does when it fills a database, and gives the number of samples. It wants them to have
/// times, which an exposition has not.
pub fn promtool_tsdb(text: &str) -> usize {
    let folder = Folder::new("promtool");
    let timed =
        |line: &str| if line.starts_with('#') { format!("{line}\n") } else { format!("{line} 1700000000\n") };
    let file = folder.path().join("metrics");
    fs::write(&file, text.lines().map(timed).collect::<String>()).unwrap();
    let mut command = Command::new("promtool");
    command.args(["tsdb", "create-blocks-from", "openmetrics"]).arg(&file).arg(folder.path().join("db"));
    let output = command.output().expect("promtool comes with Debian's prometheus");
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    // ULID, two times, their distance with its unit, and the number of samples.
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.lines().last().unwrap().split_whitespace().nth(4).unwrap().parse().unwrap()
}

/// The two servers, killed with the value.
pub struct Stack {
    folder: Folder,
    port: u16,
    children: Vec<Child>,
}

impl Stack {
    pub fn start() -> Self {
        let folder = Folder::new("prometheus");
        let (exporter, port) = (free_port(), free_port());
        fs::create_dir(folder.path().join("textfiles")).unwrap();
        let configuration = folder.path().join("prometheus.yml");
        let text = format!(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: node\n    static_configs:\n      \
             - targets: ['127.0.0.1:{exporter}']\n"
        );
        fs::write(&configuration, text).unwrap();
        let mut node = Command::new("prometheus-node-exporter");
        node.args(["--collector.disable-defaults", "--collector.textfile"])
            .arg(format!("--collector.textfile.directory={}", folder.path().join("textfiles").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{exporter}"));
        let mut prometheus = Command::new("prometheus");
        prometheus
            .arg(format!("--config.file={}", configuration.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("db").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"));
        let children = [node, prometheus].map(|mut command| {
            let log =
                fs::File::create(folder.path().join(format!("{:?}.log", command.get_program()))).unwrap();
            command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
            command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
        });
        let stack = Self { folder, port, children: children.into() };
        let ready =
            holds_within(LONG, || get(port, "/-/ready").is_some_and(|answer| answer.contains(" 200 ")));
        assert!(ready, "Prometheus is not ready");
        stack
    }

    pub fn textfiles(&self) -> PathBuf {
        self.folder.path().join("textfiles")
    }

    /// What Prometheus answers to an expression, in the escapes of an address.
    pub fn query(&self, expression: &str) -> String {
        get(self.port, &format!("/api/v1/query?query={expression}")).unwrap_or_default()
    }

    /// What it knows of a metric.
    pub fn metadata(&self, metric: &str) -> String {
        get(self.port, &format!("/api/v1/metadata?metric={metric}")).unwrap_or_default()
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// HTTP 1.0, so that the answer comes in one piece.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(LONG)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}
