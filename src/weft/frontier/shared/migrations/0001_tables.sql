-- Purpose: the tables of one crawl, in a schema of their own.
-- What workers send is bytes: links that wait, messages and parcels are compressed blocks (`blocks.py`), and nobody asks
-- the database what is in them. Times are the database's own.

-- One row: the crawl. `id` says which one it is, so that a directory is never run with the frontier of another crawl.
create table crawl(
    only_one bool primary key default true check (only_one), id text not null, by_size bool not null,
    second_pass int not null default 0, paused bool not null default false,
    over text not null default '', stop text not null default '',
    speed text not null default '', given_speed text not null default '',
    max_pages bigint, max_bytes bigint, max_time double precision,
    workers int not null default 0, wanted int not null default 0, watched bool not null default false,
    shared_among int, offered_by text, rules_at int not null default 0, restarted int not null default 0);

-- Workers that were started again, the last ones.
create table restarts(
    id bigint generated always as identity primary key, worker int not null, at double precision not null,
    how text not null, cause text not null);

-- The order of finding.
create sequence found as bigint;

-- One row a group. `links` has what waits for it, as long as that is little; the rest is in `waiting`. `parcel` is the
-- size of what is known of it from before. `size` is how many links wait, in a crawl that gives out the larger groups
-- first, and 0 in others. Predicates of indexes are on `free`, and not on `waiting`, so that one more
-- link changes no index (a HOT update); the room left in pages is for these.
create table groups(
    name text primary key, holder int, seed bool not null default false, found bigint not null default 0,
    waiting int not null default 0, size int not null default 0, parcel int, links bytea,
    free bool not null generated always as (holder is null and waiting > 0) stored)
with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
alter table groups alter column links set storage main;
create index to_crawl on groups(seed desc, size desc, found) where free;
create index held_by on groups(holder) where holder is not null;
create index with_parcel on groups(name) where parcel is not null;

-- Links that wait for groups that nobody has checked out, where they are many: a block of some dozens or more a row.
create table waiting(grp text not null, id bigint not null, links bytea not null, primary key (grp, id));
alter table waiting alter column links set storage external;

-- What the last worker of a group knew of it.
create table parcels(grp text primary key, place bigint not null, pending int not null, content bytea not null);
alter table parcels alter column content set storage external;

-- Where sites stand; those that nobody has checked out are not here.
create table sites(name text primary key, list int not null, worker int not null) with (fillfactor = 80);
create index sites_of on sites(worker) where list <> 2;

-- One row a worker: its lease (when it was heard, and until when it may visit), the number that fences off earlier
-- incarnations, and how it stands.
create table workers(
    number int primary key, incarnation int not null default 0, applied bigint not null default 0,
    taken bigint not null default 0, version bigint not null default 0,
    idle bool not null default false, starved bool not null default false, aside int not null default 0,
    pages bigint not null default 0, bytes bigint not null default 0, pending bigint not null default 0,
    allowance bigint, seconds double precision not null default 0,
    pages_rate double precision not null default 0, bytes_rate double precision not null default 0,
    hungry bool not null default true, heard_at timestamptz, leased_until timestamptz,
    in_run bool not null default true, handed_over bool not null default false, statistics bytea not null default '')
with (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);

-- How many messages each worker was ever sent: apart from `workers`, whose rows are each worker's own.
create table inboxes(worker int primary key, sent bigint not null default 0) with (fillfactor = 20);

-- Messages that are not settled.
create table inbox(
    worker int not null, number bigint not null, notices int not null, message bytea not null,
    primary key (worker, number))
with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
alter table inbox alter column message set storage external;

-- Addresses, lent to one worker at a time; `wanted` gets it next.
create table addresses(
    address text primary key, holder int, not_before timestamptz not null default 'epoch', wanted int)
with (fillfactor = 80);
create index lent on addresses(holder) where wanted is not null;
create index addresses_of on addresses(holder) where holder is not null;

-- What is in the scope.
create table scope(number int primary key, url text not null unique);

-- Rules of the blacklist; from when and until when one holds, null: not known, and to this day.
create table rules(
    id bigint generated always as identity primary key, rule text not null, since timestamptz, until timestamptz);
create unique index holding on rules(rule) where until is null;
