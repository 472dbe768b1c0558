-- name: lock_crawl
-- Wait for every exchange under way, and let none begin: for what looks at all workers at once.
select by_size, paused, over, stop, speed, max_pages, max_bytes, max_time, rules_at, second_pass
from crawl for update;

-- name: share_crawl
-- The same for an exchange that others may pass: they wait for none but who looks at all workers.
select by_size, paused, over, stop, speed, max_pages, max_bytes, max_time, rules_at, second_pass
from crawl for share;

-- name: begin_worker
-- A worker starts: whoever went by its number before is not listened to any more.
update workers set incarnation = incarnation + 1, idle = false, hungry = true, heard_at = clock_timestamp()
where number = %(worker)s returning incarnation, applied;

-- name: count_in_run
-- How many workers belong to the run.
select count(*) from workers where in_run;

-- name: parcels_left
-- Is something known of groups that has not reached any worker?
select exists (select 1 from groups where parcel is not null);

-- name: worker
-- Who a report is from.
select incarnation, applied, in_run from workers where number = %(worker)s;

-- name: claim
-- A group is a worker's, which is alone and did not ask.
insert into groups(name, holder, seed, found) values(%(group)s, %(worker)s, false, 0)
on conflict(name) do update set holder = excluded.holder returning waiting > 0 or parcel is not null;

-- name: list_site
-- A site changed lists.
insert into sites values(%(site)s, %(list)s, %(worker)s)
on conflict(name) do update set list = excluded.list, worker = excluded.worker;

-- name: admit
-- Let a place into the scope. Its number is one more than the last, so that whoever knows the last one misses none: the
-- crawl's row is locked for it.
insert into scope select coalesce(max(number), 0) + 1, %(url)s from scope on conflict(url) do nothing;

-- name: bring
-- Something comes for a group: it waits, unless somebody holds the group. The row stays locked until the end of the
-- transaction, so that nobody checks the group out between the answer and what follows from it.
insert into groups(name, seed, found, waiting) values(%(group)s, %(seed)s, %(found)s, %(count)s)
on conflict(name) do update set
    waiting = groups.waiting + case when groups.holder is null then excluded.waiting else 0 end,
    seed = groups.seed or (groups.holder is null and excluded.seed)
returning holder;

-- name: next_found
-- The next place in the order of finding.
select nextval('found');

-- name: wait
-- Notices of a group that nobody holds.
insert into waiting values(%(found)s, %(group)s, %(notices)s);

-- name: number_message
-- The next number of a worker's inbox. Its row stays locked until the end of the transaction, so that numbers become
-- visible in their order: a cursor cannot pass one that comes later.
update inboxes set sent = sent + 1 where worker = %(worker)s returning sent;

-- name: send
-- A message to a worker.
insert into inbox values(%(worker)s, %(number)s, %(message)s);

-- name: free_groups
-- How many groups can be checked out.
select count(*) from groups where holder is null and waiting > 0;

-- name: check_out
-- The groups that come next in the order of finding, seeds first; what others are checking out is passed over.
select name from groups where holder is null and waiting > 0
order by seed desc, found limit %(most)s for update skip locked;

-- name: check_out_by_size
-- The same, the larger first.
select name from groups where holder is null and waiting > 0
order by seed desc, waiting desc, found limit %(most)s for update skip locked;

-- name: take
-- A worker has a group; what was known of it.
update groups set holder = %(worker)s, waiting = 0, parcel = null
from (select parcel as known from groups where name = %(group)s) as before
where name = %(group)s returning known;

-- name: take_waiting
-- What waited for a group.
delete from waiting where grp = %(group)s returning id, notices;

-- name: holder_of_address
-- Who has an address.
select holder from addresses where address = %(address)s;

-- name: move
-- A group goes to another worker, or to whoever asks.
update groups set holder = %(holder)s where name = %(group)s and holder = %(worker)s;

-- name: settle
-- Messages that need not be kept.
delete from inbox where worker = %(worker)s and number <= %(settled)s;

-- name: inbox
-- Messages behind the last that was taken in.
select number, message from inbox where worker = %(worker)s and number > %(taken)s order by number;

-- name: release
-- An address is given back, to whoever waits for it, with the seconds until its next visit.
update addresses set holder = wanted, wanted = null,
    not_before = clock_timestamp() + make_interval(secs => %(seconds)s)
where address = %(address)s and holder = %(worker)s;

-- name: lend
-- An address is lent if nobody else has it.
insert into addresses(address, holder) values(%(address)s, %(worker)s)
on conflict(address) do update set holder = coalesce(addresses.holder, excluded.holder)
returning holder, greatest(0, extract(epoch from not_before - clock_timestamp()))::float8;

-- name: want
-- Somebody insists on an address that another has.
update addresses set wanted = %(worker)s where address = %(address)s and wanted is null;

-- name: recalled
-- Addresses that others wait for.
select address from addresses where holder = %(worker)s and wanted is not null order by address;

-- name: scope_behind
-- Entries of the scope behind those that are known.
select number, url from scope where number > %(known)s order by number;

-- name: rules
-- The rules of the blacklist.
select rule from rules order by id;

-- name: allowances
-- How many pages a worker may have fetched, and how many all others have or may have.
select max(case when number = %(worker)s then allowance end),
    coalesce(sum(case when number = %(worker)s then 0 else greatest(coalesce(allowance, 0), pages) end), 0)
from workers;

-- name: allow
-- So many pages a worker may have fetched in all.
update workers set allowance = %(allowance)s where number = %(worker)s;

-- name: report
-- How a worker stands, by the database's clock.
update workers set applied = %(applied)s, taken = %(taken)s, version = version + 1, idle = %(idle)s,
    starved = %(starved)s, aside = %(aside)s, pages = %(pages)s, bytes = %(amount)s, seconds = %(seconds)s,
    pending = %(pending)s, pages_rate = %(pages_rate)s, bytes_rate = %(bytes_rate)s, hungry = %(hungry)s,
    heard_at = clock_timestamp(), statistics = %(statistics)s
where number = %(worker)s returning version;

-- name: all_idle
-- Is anybody busy, and what is left?
select bool_or(not idle), sum(aside), sum(pending), bool_or(starved) from workers where in_run;

-- name: on_its_way
-- Is something unread, free, or with who leaves?
select exists (select 1 from inbox join workers on worker = workers.number where inbox.number > taken),
    exists (select 1 from groups where holder is null and waiting > 0),
    exists (select 1 from groups join workers on holder = number where not in_run),
    (select coalesce(sum(pages), 0) from workers);

-- name: second_pass
-- Let in again what was set aside.
update crawl set second_pass = second_pass + 1;

-- name: nobody_idle
-- Everybody is asked again.
update workers set idle = false;

-- name: totals
-- How far all workers have come together.
select coalesce(sum(bytes), 0), coalesce(max(seconds), 0) from workers;

-- name: end
-- Why the run is over.
update crawl set over = %(why)s;

-- name: rates
-- How fast each worker is, and would it be faster?
select number, pages_rate, bytes_rate, hungry from workers where in_run or number = %(worker)s;
