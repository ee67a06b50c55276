// SPDX-License-Identifier: GPL-3.0-or-later
//! SIGHUP: the collector ends, and Netdata starts it anew with the configuration of then.

use crate::support::machine::{holds_within, signal};
use crate::support::run::LONG;
use crate::support::server::Netdata;

#[test]
fn sighup_brings_the_configuration_of_now() {
    let mut netdata = Netdata::start();
    netdata.wait_for_chart("system.process_thread");
    netdata.wait_for_chart("mem.cachestat_dirties");
    let old = netdata.collectors();
    assert_eq!(old.len(), 1);
    netdata.configure("kmote.conf", "[ebpf programs]\ncachestat = no\n[global]\nupdate every = soon\n");
    signal(old[0], "HUP");
    let said = |words: &str| holds_within(LONG, || netdata.log().contains(words));
    assert!(said("SIGHUP: ends, to be started anew"), "{}", netdata.log());
    assert!(said("kmote.conf:4: update every = soon: "), "{}", netdata.log());
    assert!(holds_within(LONG, || netdata.collectors().len() == 1 && netdata.collectors() != old));
    let last =
        |chart: &str| netdata.collected(chart).values().map(|value| value.milliseconds).max().unwrap_or(0);
    let (process, cachestat) = (last("system.process_thread"), last("mem.cachestat_dirties"));
    assert!(holds_within(LONG, || last("system.process_thread") > process + 2_000), "{}", netdata.log());
    let later = last("mem.cachestat_dirties");
    assert!(later == cachestat || later == 0, "cachestat is off, and was sent at {later} after {cachestat}");
}
