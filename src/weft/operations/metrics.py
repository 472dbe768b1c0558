"""What a crawl tells Prometheus: one table, from which metrics are made and the reference page is written.

Names and units are by Prometheus' conventions: a prefix, base units (seconds, bytes) at the end, `_total` for what only
grows. What grows is counted over all runs of a crawl, so that a restart is no reset.
"""

from __future__ import annotations

from collections import Counter

from weft.frontier.shared.contract import PHASES
from weft.operations.samples import (
    Metric,
    count,
    count_by,
    cpu_seconds,
    cut_contents,
    each_worker,
    media_classes,
    operation_seconds,
    operations,
    own_time,
    sites_of_workers,
    status_classes,
    told,
    whole,
    whole_by,
)
from weft.processes import resident
from weft.version import __version__

_WORKER = ("worker",)

FRONTIER_UP = Metric(
    "weft_frontier_up",
    "gauge",
    (),
    "1 when the global frontier answered; 0 when it did not, and nothing else can be said of the crawl.",
    lambda _snapshot: [((), 1.0)],
)

METRICS: tuple[Metric, ...] = (
    # The crawl as a whole.
    FRONTIER_UP,
    Metric(
        "weft_crawl_info",
        "gauge",
        ("crawl", "version"),
        "The directory of the crawl and the version of weft; always 1.",
        lambda snapshot: [((snapshot.status.crawl, __version__), 1.0)],
    ),
    Metric("weft_running", "gauge", (), "1 while the run goes on, 0 when it is ending.", whole(lambda s: not s.over)),
    Metric(
        "weft_nodes",
        "gauge",
        ("state",),
        "Nodes of a crawl in a database that are alive, silent, have left, or are lost.",
        whole_by(lambda s: s.node_states),
    ),
    Metric(
        "weft_phase",
        "gauge",
        (),
        "Which groups have their turn: 0 all at once, 1 those of the seeds first, 2 the others, when these are done.",
        whole(lambda s: PHASES.index(s.phase)),
    ),
    Metric("weft_paused", "gauge", (), "1 while the operator has paused the crawl.", whole(lambda s: s.paused)),
    Metric(
        "weft_unreachable",
        "gauge",
        (),
        "1 while nobody can be reached, which is no site's fault.",
        whole(lambda s: bool(s.outage)),
    ),
    Metric(
        "weft_unreachable_seconds",
        "gauge",
        (),
        "Seconds for which nobody can be reached by now; 0 while somebody can.",
        whole(lambda s: s.outage_seconds),
    ),
    Metric(
        "weft_stalled",
        "gauge",
        (),
        "1 while what was fetched cannot be put away: a disk is full, or too many volumes wait for the object store.",
        whole(lambda s: bool(s.stalled)),
    ),
    Metric(
        "weft_stalled_seconds",
        "gauge",
        (),
        "Seconds for which that is so by now; 0 while it is not.",
        whole(lambda s: s.stalled_seconds),
    ),
    Metric(
        "weft_volume_directories_out_of_use",
        "gauge",
        (),
        "Directories for volumes whose disk is full or fails.",
        whole(lambda s: len(s.out_of_use)),
    ),
    Metric(
        "weft_sites",
        "gauge",
        ("list",),
        "Sites by list: to_crawl (by groups), being_crawled, crawled, set_aside.",
        whole_by(lambda s: s.lists),
    ),
    Metric("weft_pending_pages", "gauge", (), "Pages that are known and not fetched yet.", whole(lambda s: s.pending)),
    Metric(
        "weft_unassigned_pages",
        "gauge",
        (),
        "Of the pending pages, those of sites that no worker has checked out.",
        whole(lambda s: s.unassigned),
    ),
    Metric(
        "weft_target_pages_per_second",
        "gauge",
        (),
        "Pages a second that the crawl is to have at most, at this hour; no sample where there is no such target.",
        whole(lambda s: s.pages_target),
    ),
    Metric(
        "weft_target_bytes_per_second",
        "gauge",
        (),
        "Bytes a second that the crawl is to have at most, at this hour; no sample where there is no such target.",
        whole(lambda s: s.bytes_target),
    ),
    Metric("weft_blacklist_rules", "gauge", (), "Rules of the blacklist.", whole(lambda s: s.blacklist)),
    Metric("weft_sealed_volumes", "gauge", (), "WARC files that are sealed.", whole(lambda s: s.volumes)),
    Metric("weft_stored_volumes", "gauge", (), "Of these, those in the object store.", whole(lambda s: s.stored)),
    Metric(
        "weft_disk_free_bytes",
        "gauge",
        (),
        "Bytes that are free where the crawl's directory is.",
        whole(lambda s: s.disk_free),
    ),
    Metric(
        "weft_disk_size_bytes",
        "gauge",
        (),
        "Bytes that the file system of the crawl's directory has in all.",
        whole(lambda s: s.disk_size),
    ),
    Metric(
        "weft_page_limit_bytes",
        "gauge",
        (),
        "Bytes at which a page is cut (--max-bytes-page).",
        whole(lambda s: s.max_bytes_page),
    ),
    Metric(
        "weft_restarts_total",
        "counter",
        (),
        "Times that a worker died or hung and was started again.",
        whole(lambda s: s.restarted),
    ),
    # Workers.
    Metric(
        "weft_worker_up", "gauge", _WORKER, "1 while the process of the worker lives.", each_worker(lambda w: w.alive)
    ),
    Metric(
        "weft_worker_in_run",
        "gauge",
        _WORKER,
        "1 for a worker of this run, 0 for one of an earlier run alone.",
        each_worker(lambda w: w.in_run),
    ),
    Metric(
        "weft_worker_left_out",
        "gauge",
        _WORKER,
        "1 for a worker that kept dying in this run, and was left out.",
        each_worker(lambda w: bool(w.left_out)),
    ),
    Metric(
        "weft_worker_silent_seconds",
        "gauge",
        _WORKER,
        "Seconds since the global frontier heard of the worker; no sample where it never did.",
        each_worker(lambda w: w.heard),
    ),
    Metric(
        "weft_worker_resident_memory_bytes",
        "gauge",
        _WORKER,
        "Bytes of memory that the worker uses.",
        each_worker(lambda w: w.memory),
    ),
    Metric(
        "weft_worker_pending_pages",
        "gauge",
        _WORKER,
        "Pages that the worker knows and has not fetched yet.",
        each_worker(lambda w: w.pending),
    ),
    Metric(
        "weft_connections_busy",
        "gauge",
        _WORKER,
        "Connections to sites that are being visited.",
        each_worker(lambda w: w.active),
    ),
    Metric(
        "weft_pages_per_second",
        "gauge",
        _WORKER,
        "Pages a second over the last ten seconds, as the worker counts.",
        each_worker(lambda w: w.pages_rate),
    ),
    Metric(
        "weft_content_bytes_per_second",
        "gauge",
        _WORKER,
        "Bytes of content a second over the last ten seconds, as the worker counts.",
        each_worker(lambda w: w.bytes_rate),
    ),
    Metric(
        "weft_worker_sites",
        "gauge",
        ("worker", "state"),
        "Sites of a worker that lives: visited, ready for a visit, waiting (resting, or for a place), set_aside.",
        sites_of_workers,
    ),
    Metric("weft_known_urls", "gauge", _WORKER, "URLs that the worker knows.", told(lambda t: t.known)),
    Metric("weft_known_sites", "gauge", _WORKER, "Sites that the worker knows.", told(lambda t: t.sites)),
    Metric("weft_shelved_groups", "gauge", _WORKER, "Groups that the worker has put away.", told(lambda t: t.shelved)),
    Metric(
        "weft_moved_groups_total",
        "counter",
        _WORKER,
        "Groups that went from the worker to another one since it was started.",
        told(lambda t: t.moved),
    ),
    # What was done.
    Metric(
        "weft_pages_total",
        "counter",
        _WORKER,
        "Pages that were fetched for the last time, whatever came; robots.txt and requisites are not among them.",
        count(lambda c: c.pages),
    ),
    Metric(
        "weft_good_pages_total",
        "counter",
        _WORKER,
        "Pages with a content that can be used.",
        count(lambda c: c.good),
    ),
    Metric("weft_redirects_total", "counter", _WORKER, "Pages that redirect.", count(lambda c: c.redirects)),
    Metric(
        "weft_duplicate_pages_total",
        "counter",
        _WORKER,
        "Pages whose content was stored before, under whatever URL.",
        count(lambda c: c.duplicates),
    ),
    Metric(
        "weft_requisites_total",
        "counter",
        _WORKER,
        "Parts of pages (images, style sheets, scripts …) that were fetched for the last time, whatever came.",
        count(lambda c: c.parts),
    ),
    Metric(
        "weft_good_requisites_total",
        "counter",
        _WORKER,
        "Parts of pages with a content that can be used.",
        count(lambda c: c.parts_good),
    ),
    Metric(
        "weft_failed_requisites_total",
        "counter",
        _WORKER,
        "Parts of pages that failed.",
        count(lambda c: c.parts_failed),
    ),
    Metric(
        "weft_duplicate_requisites_total",
        "counter",
        _WORKER,
        "Parts of pages whose content was stored before.",
        count(lambda c: c.parts_duplicates),
    ),
    Metric("weft_robots_total", "counter", _WORKER, "Fetches of robots.txt files.", count(lambda c: c.robots)),
    Metric(
        "weft_fetches_total", "counter", _WORKER, "Fetches that were tried, of all kinds.", count(lambda c: c.fetches)
    ),
    Metric("weft_visits_total", "counter", _WORKER, "Connections that were closed.", count(lambda c: c.visits)),
    Metric(
        "weft_content_bytes_total",
        "counter",
        _WORKER,
        "Bytes of content that were received.",
        count(lambda c: c.bytes),
    ),
    Metric(
        "weft_responses_total",
        "counter",
        ("worker", "code"),
        "Pages by the class of their status: 1xx to 5xx, other, or none where no answer came.",
        count_by(lambda c: status_classes(c.statuses)),
    ),
    # What went wrong, or was left out.
    Metric(
        "weft_errors_total",
        "counter",
        ("worker", "reason"),
        "Fetches that failed, by reason; those that are tried again are among them.",
        count_by(lambda c: c.reasons),
    ),
    Metric(
        "weft_refusals_total",
        "counter",
        ("worker", "reason"),
        "URLs that a rule refused, by reason.",
        count_by(lambda c: c.refused),
    ),
    Metric(
        "weft_stopped_sites",
        "gauge",
        ("worker", "reason"),
        "Sites and domains that are followed no further, by reason; a thousand of each worker.",
        count_by(lambda c: Counter(c.stopped.values())),
    ),
    Metric("weft_checks_total", "counter", _WORKER, "Requests that only compare answers.", count(lambda c: c.checks)),
    Metric(
        "weft_cut_total",
        "counter",
        ("worker", "of", "cut"),
        "Contents that were cut: of a page, a requisite or robots.txt; by length, by time, or in their coding.",
        cut_contents,
    ),
    Metric(
        "weft_not_collected_total",
        "counter",
        ("worker", "type"),
        "Answers, and links by their file name, of a media type that is not collected, by its top level.",
        count_by(lambda c: media_classes(c.unwanted)),
    ),
    Metric(
        "weft_copies_total",
        "counter",
        _WORKER,
        "Contents that two workers stored, because neither knew yet of the other's.",
        count(lambda c: c.copies),
    ),
    Metric(
        "weft_unremembered_contents_total",
        "counter",
        _WORKER,
        "Contents that are stored whenever they come: there is no room to remember more.",
        count(lambda c: c.unremembered),
    ),
    Metric(
        "weft_faults_total",
        "counter",
        _WORKER,
        "Exceptions inside weft; log/faults.log has them.",
        count(lambda c: c.faults),
    ),
    Metric(
        "weft_application_faults_total",
        "counter",
        _WORKER,
        "Exceptions of the application; log/faults.log has them.",
        count(lambda c: c.application_faults),
    ),
    Metric(
        "weft_stalls_total",
        "counter",
        _WORKER,
        "Times when a worker waited for a disk, or for the object store.",
        count(lambda c: c.stalls),
    ),
    Metric(
        "weft_outages_total",
        "counter",
        _WORKER,
        "Times when the worker could reach nobody, which was no site's fault.",
        count(lambda c: c.outages),
    ),
    Metric(
        "weft_outage_seconds_total",
        "counter",
        _WORKER,
        "Seconds in which the worker could reach nobody.",
        told(lambda t: t.counts.outage_seconds + t.outage_seconds),
    ),
    # Where the time goes.
    Metric(
        "weft_run_seconds_total", "counter", _WORKER, "Seconds that the worker has run.", count(lambda c: c.seconds)
    ),
    Metric(
        "weft_operations_total",
        "counter",
        ("worker", "operation", "device"),
        "What was done, by operation and by the device that it mostly needs.",
        operations,
    ),
    Metric(
        "weft_operation_seconds_total",
        "counter",
        ("worker", "operation", "device"),
        "Seconds that it took. Downloads, names and waits go on at the same time as others, so that their sum may be "
        "many times the time that has passed.",
        operation_seconds,
    ),
    Metric(
        "weft_worker_cpu_seconds_total",
        "counter",
        ("worker", "mode"),
        "Processor time of the worker, all its threads together: user or system.",
        cpu_seconds,
    ),
    Metric(
        "weft_worker_cpu_queue_seconds_total",
        "counter",
        _WORKER,
        "Seconds in which the worker's loop could run, and no processor was free.",
        count(lambda c: c.cpu_queued),
    ),
    Metric(
        "weft_worker_disk_read_bytes_total",
        "counter",
        _WORKER,
        "Bytes that the worker read from disks; what was in memory already is not among them.",
        count(lambda c: c.disk_read),
    ),
    Metric(
        "weft_worker_disk_written_bytes_total",
        "counter",
        _WORKER,
        "Bytes that the worker wrote to disks.",
        count(lambda c: c.disk_written),
    ),
    Metric(
        "weft_exporter_cpu_seconds_total",
        "counter",
        (),
        "Processor time of the process that serves these metrics: the watchdog, but for a crawl from Python with one "
        "worker.",
        own_time,
    ),
    Metric(
        "weft_exporter_resident_memory_bytes",
        "gauge",
        (),
        "Bytes of memory that this process uses.",
        lambda _snapshot: [((), float(resident()))],
    ),
)
"""Every metric."""
