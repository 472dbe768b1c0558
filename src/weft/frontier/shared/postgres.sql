-- The statements of the global frontier in PostgreSQL. Each has a name, by which the code calls it, and its purpose.

-- name: session
-- What every connection begins with. What is confirmed must outlast a crash, whatever the server's default; a process
-- that is frozen must not keep its locks for ever.
select set_config('search_path', quote_ident(%(schema)s), false), set_config('synchronous_commit', 'on', false),
    set_config('lock_timeout', %(patience)s, false), set_config('idle_in_transaction_session_timeout', '60s', false),
    set_config('default_transaction_read_only', %(read_only)s, false), set_config('jit', 'off', false);

-- name: end_frozen
-- Sessions of ours that have been in the middle of a transaction for long and sent nothing since: a process that was frozen
-- while it piped statements is not idle to the server, whose own limit does not end it. One that copies rows is waited for
-- in the middle of a statement, however fast it sends them: it has ten times as long.
select pg_terminate_backend(pid) from pg_stat_activity
where pid <> pg_backend_pid() and usename = current_user and datname = current_database() and application_name = 'weft'
    and wait_event = 'ClientRead' and xact_start < clock_timestamp() - make_interval(secs => %(silent)s)
    and state_change < clock_timestamp() - make_interval(secs => %(silent)s)
    and not exists (select 1 from pg_stat_progress_copy where pg_stat_progress_copy.pid = pg_stat_activity.pid
        and state_change > clock_timestamp() - make_interval(secs => 10 * %(silent)s));

-- name: lock_tables
-- One at a time makes or changes the tables of a schema.
select pg_advisory_xact_lock(hashtext('weft tables'), hashtext(%(schema)s));

-- name: schema_exists
-- Is there such a schema?
select exists (select 1 from pg_namespace where nspname = %(schema)s);

-- name: noted_migrations
-- Were tables made there by weft?
select to_regclass(format('%%I.migrations', %(schema)s::text)) is not null;

-- name: foreign_tables
-- Are there tables at all?
select exists (select 1 from pg_tables where schemaname = %(schema)s);

-- name: note_migrations
-- The table that says which migrations were applied.
create table if not exists migrations(
    number int primary key, name text not null, applied_at timestamptz not null default clock_timestamp());

-- name: migrations_done
-- Which migrations were applied.
select number from migrations;

-- name: note_migration
-- A migration was applied.
insert into migrations(number, name) values(%(number)s, %(name)s);

-- name: lock_crawl
-- Wait for every exchange under way, and let none begin: for what looks at all workers at once. Advisory locks queue, so
-- that those who share cannot keep out who must be alone.
select pg_advisory_xact_lock('crawl'::regclass::oid::int, 1);

-- name: share_crawl
-- The same for an exchange that others may pass: they wait for none but who must be alone.
select pg_advisory_xact_lock_shared('crawl'::regclass::oid::int, 1);

-- name: begin_crawl
-- A crawl begins.
insert into crawl(id, by_size, phase, settings, seeds, contract)
values(%(id)s, %(by_size)s, %(phase)s, %(settings)s, %(seeds)s, %(contract)s);

-- name: note_settings
-- What a node needs to know of the crawl.
update crawl set settings = %(settings)s, seeds = %(seeds)s;

-- name: settings
-- Which crawl this is, and what a node needs to know of it.
select id, settings, seeds from crawl;

-- name: crawl_id
-- Which crawl this is.
select id from crawl;

-- name: contract
-- By which contract workers talk to it.
select contract from crawl;

-- name: set_contract
-- Workers talk by another contract from now on.
update crawl set contract = %(contract)s;

-- name: leases
-- Workers that may visit at this moment.
select number from workers where leased_until > clock_timestamp() order by number;

-- name: busy_nodes
-- Nodes that are at work, be it with handing over what they hold.
select number from nodes where left_at is null and lost_at is null
    and heard_at > clock_timestamp() - make_interval(secs => %(silent)s) order by number;

-- name: go_on
-- Nobody is told to stop any more.
update crawl set stop = '', over = '';

-- name: remove_crawl
-- Everything of a crawl, before another begins.
with a as (delete from groups), b as (delete from waiting), c as (delete from parcels), d as (delete from sites),
    e as (delete from workers), f as (delete from inboxes), g as (delete from inbox), h as (delete from addresses),
    i as (delete from scope), j as (delete from rules), k as (delete from restarts), l as (delete from nodes),
    m as (delete from kept)
delete from crawl;

-- name: begin_worker
-- A worker starts: whoever went by its number before is not listened to any more.
update workers set incarnation = incarnation + 1, idle = false, resting = false, hungry = true,
    heard_at = clock_timestamp(), leased_until = clock_timestamp() + make_interval(secs => %(lease)s)
where number = %(worker)s returning incarnation, applied;

-- name: touch
-- A worker that is not yet exchanging is alive.
update workers set heard_at = clock_timestamp() where number = %(worker)s;

-- name: second_pass_now
-- How often sites that were set aside were let in again.
select second_pass from crawl;

-- name: held
-- The groups of a worker.
select name from groups where holder = %(worker)s;

-- name: who
-- Who a report is from, and what it is answered by. The worker's row is locked: the same report sent twice, because its
-- answer was late, is taken one after the other.
select incarnation, applied, in_run, version, by_size, phase, paused, over, stop, speed, max_pages, max_bytes, max_time,
    rules_at, second_pass, extract(epoch from clock_timestamp())::float8,
    (select count(*)::int from workers as all_of_them where in_run)
from workers, crawl where number = %(worker)s for update of workers;

-- name: claim
-- Groups are a worker's, which is alone and did not ask; is something known of them?
insert into groups(name, holder) select name, %(worker)s from unnest(%(names)s::text[]) as given(name) order by name
on conflict(name) do update set holder = excluded.holder
returning name, waiting > 0 or parcel is not null;

-- name: list_sites
-- Sites changed lists.
insert into sites select name, list, %(worker)s from unnest(%(names)s::text[], %(lists)s::int[]) as given(name, list)
order by name
on conflict(name) do update set list = excluded.list, worker = excluded.worker;

-- name: admit
-- Let places into the scope. Numbers have no gap, so that whoever knows the last one misses none: whoever does this is
-- alone.
insert into scope
select (select coalesce(max(number), 0) from scope) + row_number() over (order by place), url
from (select url, min(place) as place from unnest(%(urls)s::text[]) with ordinality as given(url, place) group by url)
    as given
where not exists (select 1 from scope where scope.url = given.url);

-- name: places
-- The next places in the order of finding.
select nextval('found') from generate_series(1, %(count)s);

-- name: holders
-- Who holds groups, of those that somebody holds. They are shared: until the end of the transaction nobody takes one
-- from its holder, while others may tell of it, too.
select name, holder from groups where name = any(%(names)s) and holder is not null order by name for share;

-- name: bring
-- Links come for groups that nobody holds, and wait. A frame is put behind those that are in the row as long as all of
-- them are few bytes; the last eight bytes say whether it was. A group that somebody has taken is not returned.
insert into groups(name, seed, found, waiting, size, links)
select name, seed, found, waiting, case when (select by_size from crawl) then waiting else 0 end, links
from unnest(%(names)s::text[], %(seeds)s::bool[], %(found)s::bigint[], %(counts)s::int[], %(frames)s::bytea[])
    as given(name, seed, found, waiting, links) order by name
on conflict(name) do update set
    waiting = groups.waiting + excluded.waiting, size = groups.size + excluded.size,
    seed = groups.seed or excluded.seed,
    links = case when octet_length(coalesce(groups.links, '')) + octet_length(excluded.links) <= %(most)s
        then coalesce(groups.links, '') || excluded.links else groups.links end
where groups.holder is null
returning name, substring(links from octet_length(links) - 7);

-- name: take_links
-- What waits in the rows of groups goes into a block, with what has no room there.
update groups set links = null
from (select name, links from groups where name = any(%(names)s)) as before
where groups.name = before.name returning before.name, before.links;

-- name: forget_doubles
-- Links that said nothing new were dropped.
update groups set waiting = greatest(1, waiting - dropped)
from unnest(%(names)s::text[], %(dropped)s::int[]) as given(name, dropped) where groups.name = given.name;

-- name: put_waiting
-- Blocks of links that wait.
insert into waiting(grp, id, links) select * from unnest(%(a)s::text[], %(b)s::bigint[], %(c)s::bytea[]);

-- name: copy_waiting
-- The same, where they are many.
copy waiting(grp, id, links) from stdin (format binary);

-- name: take_waiting
-- The blocks that waited for groups.
delete from waiting where grp = any(%(names)s) returning links;

-- name: number_messages
-- The next numbers of inboxes. Their rows stay locked until the end of the transaction, so that numbers become visible in
-- their order: a cursor cannot pass one that comes later. They are locked in their order, so that two do not wait for
-- each other.
update inboxes set sent = sent + given.count
from (select worker, count from inboxes join unnest(%(workers)s::int[], %(counts)s::int[]) as wanted(number, count)
    on worker = wanted.number order by worker for update of inboxes) as given
where inboxes.worker = given.worker returning inboxes.worker, sent - given.count;

-- name: put_inbox
-- Messages to workers.
insert into inbox(worker, number, notices, message)
select * from unnest(%(a)s::int[], %(b)s::bigint[], %(c)s::int[], %(d)s::bytea[]);

-- name: copy_inbox
-- The same, where they are many.
copy inbox(worker, number, notices, message) from stdin (format binary);

-- name: count_free
-- How many groups can be checked out, those of seeds alone where so, as far as that matters.
select count(*) from (select 1 from groups where free and seed >= %(seeds)s limit %(most)s) as counted;

-- name: check_out
-- The groups that come next: seeds first, the larger first where size counts, then in the order of finding. What others
-- are checking out is passed over. Compared like this, seeds alone are a range of the index.
select name, coalesce(parcel, 0) from groups where free and seed >= %(seeds)s
order by seed desc, size desc, found limit %(most)s for update skip locked;

-- name: take
-- A worker has groups; what waited in their rows.
update groups set holder = %(worker)s, waiting = 0, size = 0, parcel = null, links = null
from (select name, links from groups where name = any(%(names)s)) as before
where groups.name = before.name returning before.links;

-- name: take_parcels
-- What was known of groups.
delete from parcels where grp = any(%(names)s) returning grp, pending, content;

-- name: holder_of_address
-- Who has an address.
select holder from addresses where address = %(address)s;

-- name: move
-- A group goes to another worker, or to whoever asks.
update groups set holder = %(holder)s where name = %(name)s and holder = %(worker)s;

-- name: settle
-- Messages that need not be kept: the worker's log has them, and so do the parcels that others would go on with.
delete from inbox where worker = %(worker)s and number <= least(%(settled)s,
    (select kept_taken from workers where workers.number = %(worker)s));

-- name: inbox
-- Messages behind the last that was taken in, as many as have no more notices before them than one exchange brings.
select number, message from (
    select number, message, sum(notices) over (order by number) - notices as before
    from inbox where worker = %(worker)s and number > greatest(%(taken)s,
        (select settled from workers where workers.number = %(worker)s))) as unread
where before <= %(most)s order by number limit 1000;

-- name: unread
-- All messages behind the last that was taken in.
select message from inbox where worker = %(worker)s and number > %(taken)s order by number;

-- name: release
-- Addresses are given back, to whoever waits for them, with the seconds until their next visit.
update addresses set holder = wanted, wanted = null, not_before = clock_timestamp() + make_interval(secs => seconds)
from unnest(%(addresses)s::text[], %(seconds)s::float8[]) as given(name, seconds)
where address = name and holder = %(worker)s;

-- name: lend
-- Addresses are lent if nobody else has them.
insert into addresses(address, holder)
select address, %(worker)s from unnest(%(addresses)s::text[]) as given(address) order by address
on conflict(address) do update set holder = coalesce(addresses.holder, excluded.holder)
returning address, holder, greatest(0, extract(epoch from not_before - clock_timestamp()))::float8;

-- name: want
-- Somebody insists on addresses that others have.
update addresses set wanted = %(worker)s where address = any(%(addresses)s) and wanted is null;

-- name: recalled
-- Addresses that others wait for.
select address from addresses where holder = %(worker)s and wanted is not null order by address;

-- name: scope_behind
-- Entries of the scope behind those that are known.
select number, url from scope where number > %(known)s order by number;

-- name: rules
-- The rules of the blacklist.
select rule from rules where until is null order by id;

-- name: allowances
-- How many pages a worker may have fetched, and how many all others have or may have.
select max(case when number = %(worker)s then allowance end),
    coalesce(sum(case when number = %(worker)s then 0 else greatest(coalesce(allowance, 0), pages) end), 0)::bigint
from workers;

-- name: allow
-- So many pages a worker may have fetched in all.
update workers set allowance = %(allowance)s where number = %(worker)s;

-- name: report
-- How a worker stands; its lease is renewed, by the database's clock.
update workers set applied = %(applied)s, taken = %(taken)s, settled = greatest(settled, %(settled)s),
    version = version + 1, idle = %(idle)s, resting = %(resting)s,
    starved = %(starved)s, aside = %(aside)s, pages = %(pages)s, bytes = %(amount)s, seconds = %(seconds)s,
    pending = %(pending)s, pages_rate = %(pages_rate)s, bytes_rate = %(bytes_rate)s, hungry = %(hungry)s,
    heard_at = clock_timestamp(), leased_until = clock_timestamp() + make_interval(secs => %(lease)s),
    statistics = %(statistics)s
where number = %(worker)s returning version;

-- name: all_idle
-- Is anybody busy, and what is left?
select bool_or(not idle), coalesce(sum(aside), 0), coalesce(sum(pending), 0), bool_or(starved)
from workers where in_run;

-- name: seeds_done
-- Is nobody busy with the groups of the seeds, and is none of them free?
select not bool_or(starved or not (idle or resting)) and not exists (select 1 from groups where free and seed)
from workers where in_run;

-- name: expand
-- All groups have their turn from now on.
update crawl set phase = %(phase)s;

-- name: on_its_way
-- Is something unread, free, or with who leaves? How many pages are there?
select exists (select 1 from inbox join workers on worker = workers.number where inbox.number > taken),
    exists (select 1 from groups where free),
    exists (select 1 from workers where not in_run and exists (select 1 from groups where holder = workers.number)),
    (select coalesce(sum(pages), 0) from workers);

-- name: second_pass
-- Let in again what was set aside.
update crawl set second_pass = second_pass + 1;

-- name: nobody_idle
-- Everybody is asked again.
update workers set idle = false, resting = false where idle or resting;

-- name: totals
-- How far all workers have come together.
select coalesce(sum(bytes), 0), coalesce(max(seconds), 0) from workers;

-- name: end
-- Why the run is over.
update crawl set over = %(why)s;

-- name: end_run
-- A node's run has ended; the crawl's has, where no other node crawls.
update crawl set over = %(why)s where not exists (
    select 1 from workers where node <> %(node)s and in_run and leased_until > clock_timestamp());

-- name: rates
-- How fast each worker is, and would it be faster?
select number, pages_rate, bytes_rate, hungry from workers where in_run or number = %(worker)s;

-- name: add_workers
-- A node has at least these workers.
with a as (insert into inboxes(worker) select generate_series(%(first)s::int, %(last)s::int) on conflict do nothing)
insert into workers(number) select generate_series(%(first)s::int, %(last)s::int) on conflict do nothing;

-- name: belong
-- The first of them belong to the run.
with a as (update workers set in_run = number <= %(last)s where node = %(node)s and in_run <> (number <= %(last)s))
update nodes set workers = %(workers)s, wanted = %(workers)s where number = %(node)s;

-- name: leave_out
-- A worker belongs to the run no more, and is not listened to.
update workers set in_run = false, incarnation = incarnation + 1 where number = %(worker)s;

-- name: begin_run
-- A run of a node begins: none of its workers has said anything yet.
update workers set idle = false, resting = false, starved = false, allowance = null, hungry = true
where node = %(node)s;

-- name: free_addresses
-- Addresses of a node's workers that are no more are free, and none of its workers waits for any.
update addresses set wanted = case when wanted / 10000 = %(node)s then null else wanted end,
    holder = case when holder > %(last)s and holder / 10000 = %(node)s then null else holder end
where wanted / 10000 = %(node)s or (holder > %(last)s and holder / 10000 = %(node)s);

-- name: others_run
-- Does another node crawl at this moment?
select exists (select 1 from workers where node <> %(node)s and in_run and leased_until > clock_timestamp());

-- name: set_limits
-- Where the run ends.
update crawl set over = '', stop = '', max_pages = %(max_pages)s, max_bytes = %(max_bytes)s, max_time = %(max_time)s;

-- name: give_speed
-- The target that a run is given, unless it is what the last one was given.
update crawl set speed = %(speed)s, given_speed = %(speed)s where given_speed <> %(speed)s;

-- name: set_speed
-- The target.
update crawl set speed = %(speed)s;

-- name: want_workers
-- How many workers a node is to have.
update nodes set wanted = %(count)s where number = %(node)s;

-- name: pause
-- Have nothing fetched, or go on.
update crawl set paused = %(paused)s;

-- name: stop
-- End the run.
update crawl set stop = %(why)s;

-- name: note_rules
-- The rules by which links have been offered.
update crawl set offered_by = %(rules)s;

-- name: remove_rules
-- Rules of the blacklist hold no longer.
update rules set until = clock_timestamp() where rule = any(%(gone)s) and until is null;

-- name: add_rules
-- Rules of the blacklist hold from now on.
insert into rules(rule, since) select rule, clock_timestamp()
from unnest(%(new)s::text[]) with ordinality as given(rule, place) order by place on conflict do nothing;

-- name: restore_rules
-- Rules of the blacklist hold, since when is not known.
insert into rules(rule) select rule from unnest(%(new)s::text[]) with ordinality as given(rule, place) order by place
on conflict do nothing;

-- name: rules_changed
-- Workers hear of new rules.
update crawl set rules_at = rules_at + 1;

-- name: rules_ever
-- Every rule that is, or was, on the blacklist.
select rule, extract(epoch from since)::float8, extract(epoch from until)::float8 from rules order by id;

-- name: note_restart
-- A worker was started again.
insert into restarts(worker, at, how, cause) values(%(worker)s, %(at)s, %(how)s, %(cause)s);

-- name: forget_restarts
-- Only the last ones are kept.
delete from restarts where id <= (select max(id) - %(kept)s from restarts);

-- name: count_restart
-- How often workers were started again.
update crawl set restarted = restarted + 1;

-- name: restarts
-- Workers that were started again.
select worker, at, how, cause from restarts order by id;

-- name: state
-- How the crawl stands; workers of one node, or of all that are there.
select by_size, phase, over, paused, speed, coalesce(sum(workers), 0)::int, coalesce(sum(wanted), 0)::int,
    coalesce(bool_or(watched), false), max(shared_among), offered_by, restarted
from crawl left join nodes on number = %(node)s::int or (%(node)s::int is null and left_at is null and lost_at is null)
group by only_one;

-- name: restore_state
-- How a crawl stood whose frontier is made anew.
update crawl set by_size = %(by_size)s, phase = %(phase)s, paused = %(paused)s, speed = %(speed)s, given_speed = %(speed)s,
    offered_by = %(offered_by)s, restarted = %(restarted)s;

-- name: workers
-- How every worker stands; when it was heard, and how long its lease lasts, in seconds by the database's clock.
select number, in_run, applied, version, pages, pending,
    case when heard_at is not null then greatest(0, extract(epoch from clock_timestamp() - heard_at))::float8 end,
    statistics,
    case when leased_until is not null then greatest(0, extract(epoch from leased_until - clock_timestamp()))::float8 end
from workers where node = %(node)s::int or %(node)s::int is null order by number;

-- name: lists
-- How many sites are in which list.
select list, count(*) from sites group by list;

-- name: free_groups
-- How many groups can be checked out.
select count(*) from groups where free;

-- name: groups
-- How many groups are known.
select count(*) from groups;

-- name: pages_waiting
-- How many pages wait at groups that nobody has checked out.
select coalesce(sum(waiting), 0)::bigint from groups where free;

-- name: group
-- Who holds a group, what waits in its row, and what is known of it.
select holder, links, (select content from parcels where grp = name) from groups where name = %(name)s;

-- name: waits_for
-- The blocks that wait for a group.
select links from waiting where grp = %(name)s;

-- name: scope
-- What is in the scope.
select url from scope order by number;

-- name: surplus
-- Workers that belong to no run and still hold something.
select number from workers where not in_run and node = %(node)s
    and (exists (select 1 from groups where holder = workers.number)
    or exists (select 1 from inbox where worker = workers.number) or exists
    (select 1 from addresses where holder = workers.number or wanted = workers.number)) order by number;

-- name: handed_over
-- Workers whose groups were taken back, and whose logs may still have them.
select number from workers where handed_over and node = %(node)s order by number;

-- name: end_hand_over
-- The worker's log has them no more.
update workers set handed_over = false where number = %(worker)s;

-- name: note_shared
-- Everything of a node was handed over for so many workers.
update nodes set shared_among = %(workers)s where number = %(node)s;

-- name: applied
-- The last commit of a worker that was heard of.
select applied from workers where number = %(worker)s;

-- name: taken
-- How far a worker has read its inbox.
select taken from workers where number = %(worker)s;

-- name: clear_inbox
-- Nothing is sent to a worker any more.
delete from inbox where worker = %(worker)s;

-- name: copy_parcels
-- What a worker knew of its groups.
copy parcels(grp, place, pending, content) from stdin (format binary);

-- name: check_in
-- Groups of which there is a parcel are nobody's again. Those that were claimed have no place in the order of finding:
-- they come before all others.
update groups set holder = null, parcel = greatest(1, octet_length(content)), waiting = pending,
    size = case when (select by_size from crawl) then pending else 0 end,
    found = case when found = 0 then place else found end
from parcels where grp = name and holder = %(worker)s;

-- name: check_in_unread
-- A group of a message that was not read is nobody's again.
update groups set holder = null, waiting = waiting + %(pending)s, parcel = %(size)s,
    size = case when (select by_size from crawl) then waiting + %(pending)s else 0 end
where name = %(name)s and holder = %(worker)s returning name;

-- name: put_parcel
-- What is known of a group.
insert into parcels values(%(name)s, 0, %(pending)s, %(content)s)
on conflict(grp) do update set pending = excluded.pending, content = excluded.content;

-- name: check_in_rest
-- What else a worker held is nobody's.
update groups set holder = null where holder = %(worker)s returning name;

-- name: forget_sites
-- Sites of a worker that are not crawled are to be crawled.
delete from sites where worker = %(worker)s and list <> 2;

-- name: return_addresses
-- Nobody has the addresses of a worker, and it waits for none. Those that it had may be left alone for some seconds.
update addresses set holder = nullif(holder, %(worker)s), wanted = null,
    not_before = case when holder = %(worker)s and %(unwritten)s > 0
        then greatest(not_before, clock_timestamp() + make_interval(secs => %(unwritten)s)) else not_before end
where holder = %(worker)s or wanted = %(worker)s;

-- name: rest
-- Addresses are left alone for so many seconds.
insert into addresses(address, not_before)
select address, clock_timestamp() + make_interval(secs => seconds)
from unnest(%(addresses)s::text[], %(seconds)s::float8[]) as given(address, seconds) order by address
on conflict(address) do update set not_before = greatest(addresses.not_before, excluded.not_before);

-- name: handed
-- A worker holds nothing any more, and whoever goes by its number is not listened to.
update workers set incarnation = incarnation + 1, applied = %(applied)s, taken = %(taken)s, pages = %(pages)s,
    statistics = %(statistics)s, idle = false, aside = 0, pending = 0, pages_rate = 0, bytes_rate = 0, allowance = null,
    handed_over = true, leased_until = null
where number = %(worker)s;

-- name: put_groups
-- Groups of which there is a parcel, in the order of their discovery.
insert into groups(name, seed, found, waiting, size, parcel)
select grp, %(seed)s, place, pending, case when (select by_size from crawl) then pending else 0 end,
    greatest(1, octet_length(content)) from parcels;

-- name: strays
-- Blocks and parcels without a group, and groups that wait for nothing.
select (select count(*) from (select 1 from waiting where not exists (select 1 from groups where name = grp) limit 9) s)
    + (select count(*) from (select 1 from parcels where not exists
        (select 1 from groups where name = grp and parcel is not null) limit 9) as s)
    + (select count(*) from (select 1 from groups where free and parcel is null and links is null
        and not exists (select 1 from waiting where grp = name) limit 9) as s);

-- name: all_parcels
-- What is known of groups.
select grp, pending, content from parcels;

-- name: all_links
-- What waits for groups.
select links from groups where links is not null union all select links from waiting;

-- name: all_messages
-- What is on its way.
select message from inbox;

-- Nodes.

-- name: join
-- A node that was not there before; its number.
insert into nodes(number, name, version) select coalesce(max(number) + 1, 0), %(name)s, %(version)s from nodes
returning number;

-- name: enter
-- A node's run begins.
insert into nodes(number, name, version, watched, heard_at)
values(%(node)s, %(name)s, %(version)s, %(watched)s, clock_timestamp())
on conflict(number) do update set name = excluded.name, version = excluded.version, watched = excluded.watched,
    heard_at = clock_timestamp(), left_at = null, leaving = false;

-- name: others
-- Nodes that may have something of the crawl, but for one.
select number from nodes where number <> %(node)s and left_at is null and lost_at is null order by number;

-- name: hear_node
-- A node is alive; is it to leave, and does it count as lost?
update nodes set heard_at = clock_timestamp() where number = %(node)s returning leaving, lost_at is not null;

-- name: node_stands
-- Is a node to leave, and does it count as lost?
select leaving, lost_at is not null from nodes where number = %(node)s;

-- name: ask_to_leave
-- A node is to leave.
update nodes set leaving = true where number = %(node)s and left_at is null and lost_at is null returning number;

-- name: leave
-- A node has left: it holds nothing.
update nodes set left_at = clock_timestamp(), leaving = false, workers = 0, wanted = 0 where number = %(node)s;

-- name: nodes
-- How every node stands; times are seconds ago, by the database's clock.
select number, name, version, workers, extract(epoch from clock_timestamp() - joined_at)::float8,
    greatest(0, extract(epoch from clock_timestamp() - greatest(heard_at,
        (select max(workers.heard_at) from workers where node = nodes.number))))::float8,
    extract(epoch from clock_timestamp() - left_at)::float8, extract(epoch from clock_timestamp() - lost_at)::float8,
    (select coalesce(sum(pages), 0)::bigint from workers where node = nodes.number),
    (select count(*) from groups join workers on holder = workers.number where node = nodes.number),
    exists (select 1 from workers where node = nodes.number and in_run and leased_until > clock_timestamp())
from nodes order by number;

-- name: kept_number
-- As of which commit of a worker parcels are kept; of a node that is lost, as long as it has not come back.
select kept_number from workers where number = %(worker)s;

-- name: drop_kept
-- What an interrupted round left, what a later round has, and what the worker holds no more.
delete from kept using workers where workers.number = %(worker)s and kept.worker = %(worker)s and (
    kept.number > kept_number
    or exists (select 1 from kept as later where later.worker = %(worker)s and later.grp = kept.grp
        and later.number > kept.number and later.number <= kept_number)
    or not exists (select 1 from groups where name = kept.grp and holder = %(worker)s));

-- name: put_kept
-- Parcels of a round, unless another one came between.
insert into kept(worker, number, grp, pending, content)
select %(worker)s, %(number)s, grp, pending, content
from unnest(%(groups)s::text[], %(pending)s::int[], %(contents)s::bytea[]) as given(grp, pending, content)
where exists (select 1 from workers where workers.number = %(worker)s and kept_number = %(since)s);

-- name: drop_round
-- A round that does not count.
delete from kept where worker = %(worker)s and number = %(number)s;

-- name: end_round
-- The round is complete, and counts; unless another one came between, or the node is lost.
update workers set kept_number = %(number)s, kept_taken = %(taken)s, kept_pages = %(pages)s,
    kept_statistics = %(statistics)s, kept_batches = %(batches)s
from nodes where nodes.number = workers.node and lost_at is null and workers.number = %(worker)s
    and kept_number = %(since)s returning workers.number;

-- name: forget_kept
-- A worker holds nothing: that is what is kept of it.
with a as (delete from kept where worker = %(worker)s)
update workers set kept_number = %(number)s, kept_taken = %(taken)s, kept_pages = %(pages)s,
    kept_statistics = %(statistics)s, kept_batches = '' where number = %(worker)s;

-- name: silent_now
-- Is there another node that was not heard for so many seconds, and so on? Nothing is locked.
select number from nodes where left_at is null and lost_at is null and number is distinct from %(node)s::int
    and coalesce(greatest(heard_at, (select max(workers.heard_at) from workers where node = nodes.number)), joined_at)
        < clock_timestamp() - make_interval(secs => %(after)s)
    and not exists (select 1 from workers where node = nodes.number
        and leased_until > clock_timestamp() - make_interval(secs => %(beyond)s))
limit 1;

-- name: silent
-- Other nodes that were not heard for so many seconds, and whose workers' leases ended so many seconds ago.
select number, name from nodes where left_at is null and lost_at is null and number is distinct from %(node)s::int
    and coalesce(greatest(heard_at, (select max(workers.heard_at) from workers where node = nodes.number)), joined_at)
        < clock_timestamp() - make_interval(secs => %(after)s)
    and not exists (select 1 from workers where node = nodes.number
        and leased_until > clock_timestamp() - make_interval(secs => %(beyond)s))
order by number for update;

-- name: workers_of
-- What is kept of the workers of a node.
select number, applied, kept_number, kept_taken, kept_pages, kept_statistics, kept_batches,
    extract(epoch from clock_timestamp())::float8
from workers where node = %(node)s order by number;

-- name: kept
-- The parcels that count of a worker, of the groups that it holds.
select distinct on (grp) grp, pending, content from kept join groups on name = grp and holder = %(worker)s
where worker = %(worker)s and number <= %(number)s order by grp, number desc;

-- name: count_held
-- How many groups a worker holds.
select count(*)::int from groups where holder = %(worker)s;

-- name: rest_all
-- The addresses of a worker are left alone for so many seconds from the end of its lease on.
update addresses set not_before = greatest(not_before, leased_until + make_interval(secs => %(rest)s))
from workers where holder = %(worker)s and number = %(worker)s;

-- name: forget_parcels
-- What is kept of a worker is with its groups.
delete from kept where worker = %(worker)s;

-- name: lose
-- A node is lost, and none of its workers belongs to the run.
with a as (update workers set in_run = false, handed_over = false where node = %(node)s)
update nodes set lost_at = clock_timestamp(), workers = 0, wanted = 0 where number = %(node)s;
