//! All SQL, limited to what PostgreSQL, CockroachDB and YugabyteDB have in common.
//!
//! **Shape.** A record is identified by its first commit and its hash, so it needs no other number. The head of a cell
//! is one row; every append moves it.
//!
//! **Order.** No advisory locks, no LISTEN, no sequences: every condition is in the `WHERE` of one
//! statement.
//!
//! **Time.** No lease depends on the server's clock, only what is shown of nodes and the names that they keep. A lease is
//! a length and a count of changes: whoever has seen the count unchanged for that length, by its own steady clock, may
//! take the cell if the count is still the same.

/// The version of the tables. A server with tables of another version is refused.
pub(crate) const VERSION: i64 = 4;

/// The tables, in the order in which they are created; the version comes last.
pub(crate) const TABLES: [&str; 5] = [
    "CREATE TABLE IF NOT EXISTS caudal_cell (\
     cell BIGINT PRIMARY KEY, log BYTEA NOT NULL, epoch BIGINT NOT NULL, owner TEXT, \
     lease_ms BIGINT, changes BIGINT NOT NULL, first_commit BIGINT NOT NULL, \
     last_commit BIGINT NOT NULL, acknowledged BIGINT NOT NULL, hash BYTEA NOT NULL)",
    "CREATE TABLE IF NOT EXISTS caudal_log (\
     cell BIGINT NOT NULL, first_commit BIGINT NOT NULL, commits BIGINT NOT NULL, \
     epoch BIGINT NOT NULL, previous BYTEA NOT NULL, hash BYTEA NOT NULL, length BIGINT NOT NULL, \
     body BYTEA NOT NULL, PRIMARY KEY (cell, first_commit))",
    "CREATE TABLE IF NOT EXISTS caudal_node (\
     cell BIGINT NOT NULL, node TEXT NOT NULL, url TEXT NOT NULL, applied BIGINT NOT NULL, \
     process BIGINT NOT NULL, seen TIMESTAMPTZ NOT NULL, PRIMARY KEY (cell, node))",
    "CREATE TABLE IF NOT EXISTS caudal_schema (one BIGINT PRIMARY KEY, version BIGINT NOT NULL)",
    "INSERT INTO caudal_schema (one, version) VALUES (1, 4) ON CONFLICT (one) DO NOTHING",
];

/// The timeline on which a server writes, in the first eight digits: each promotion begins a later one. Only PostgreSQL
/// has timelines.
pub(crate) const TIMELINE: &str = "SELECT pg_walfile_name(pg_current_wal_lsn())";

/// The first statement on a connection.
pub(crate) const HELLO: &str = "SELECT 1";

/// The version of the tables.
pub(crate) const SCHEMA: &str = "SELECT version FROM caudal_schema WHERE one = 1";

/// The server's durability settings: `fsync`, `synchronous_commit`, `synchronous_standby_names`; NULL for a setting
/// that the server does not have.
pub(crate) const PROMISES: &str = "SELECT current_setting('fsync', true), \
     current_setting('synchronous_commit', true), \
     current_setting('synchronous_standby_names', true)";

/// Begins a cell. `$1` cell, `$2` identity of the log, `$3` hash of the empty log.
pub(crate) const BEGIN: &str = "INSERT INTO caudal_cell \
     (cell, log, epoch, changes, first_commit, last_commit, acknowledged, hash) \
     VALUES ($1, $2, 0, 0, 1, 0, 0, $3) \
     ON CONFLICT (cell) DO NOTHING";

/// Begins a cell under a given identity; replaces the log of a cell that was never used. `$1` cell, `$2` identity of
/// the log, `$3` hash of the empty log.
pub(crate) const BEGIN_AS: &str = "INSERT INTO caudal_cell \
     (cell, log, epoch, changes, first_commit, last_commit, acknowledged, hash) \
     VALUES ($1, $2, 0, 0, 1, 0, 0, $3) \
     ON CONFLICT (cell) DO UPDATE SET log = $2, hash = $3 \
     WHERE caudal_cell.epoch = 0 AND caudal_cell.last_commit = 0";

/// The head of a cell.
pub(crate) const HEAD: &str = "SELECT log, epoch, owner, last_commit, hash, lease_ms, changes \
     FROM caudal_cell WHERE cell = $1";

/// Appends. The owner seals a record only after the record before it was acknowledged. `$1` cell, `$2` epoch, `$3` hash of the predecessor, `$4` first commit, `$5` commits,
/// `$6` hash, `$7` length, `$8` body.
pub(crate) const APPEND: &str = "WITH head AS (\
     UPDATE caudal_cell SET last_commit = $4 + $5 - 1, acknowledged = $4 - 1, hash = $6 \
     WHERE cell = $1 AND epoch = $2 AND hash = $3 AND last_commit = $4 - 1 RETURNING cell) \
     INSERT INTO caudal_log (cell, first_commit, commits, epoch, previous, hash, length, body) \
     SELECT cell, $4, $5, $2, $3, $6, $7, $8 FROM head";

/// Takes a cell that nobody holds, that is kept for this owner, or whose lease has run out: it has seen no change since
/// this count of changes. `$1` cell, `$2` owner, `$3` milliseconds, `$4` the owner value that keeps the cell for this
/// owner, `$5` identity of the log, `$6` the count of changes at which the lease ran out, -1 for none. If `$2` equals
/// `$4`, the cell is only kept.
pub(crate) const ACQUIRE: &str = "UPDATE caudal_cell SET epoch = epoch + 1, owner = $2, \
     lease_ms = $3, changes = changes + 1 \
     WHERE cell = $1 AND log = $5 AND (lease_ms IS NULL OR owner = $4 OR changes = $6) \
     RETURNING epoch";

/// Extends a lease, unless the cell is only kept for a name. `$1` cell, `$2` epoch, `$3` milliseconds, `$4` the last
/// commit that was acknowledged.
pub(crate) const RENEW: &str = "UPDATE caudal_cell \
     SET lease_ms = $3, changes = changes + 1, acknowledged = $4 \
     WHERE cell = $1 AND epoch = $2 AND owner NOT LIKE '\t%'";

/// Releases a lease. `$1` cell, `$2` epoch.
pub(crate) const RELEASE: &str = "UPDATE caudal_cell \
     SET owner = NULL, lease_ms = NULL, changes = changes + 1 WHERE cell = $1 AND epoch = $2";

/// Releases a lease and keeps the cell for one owner. `$1` cell, `$2` epoch, `$3` the owner value that keeps it, `$4`
/// milliseconds.
pub(crate) const OFFER: &str = "UPDATE caudal_cell SET owner = $3, \
     lease_ms = $4, changes = changes + 1 WHERE cell = $1 AND epoch = $2";

/// Reports that a node is present, unless another process has done so under its name within the given time, before or
/// after now (the server's clock may have been set). `$1` cell, `$2` node, `$3` URL, `$4` the last commit that it has
/// applied, `$5` process, `$6` milliseconds.
pub(crate) const REPORT: &str = "INSERT INTO caudal_node (cell, node, url, applied, process, seen) \
     VALUES ($1, $2, $3, $4, $5, now()) ON CONFLICT (cell, node) \
     DO UPDATE SET url = $3, applied = $4, process = $5, seen = now() \
     WHERE caudal_node.process = $5 \
     OR caudal_node.seen NOT BETWEEN now() - $6 * INTERVAL '1 millisecond' \
     AND now() + $6 * INTERVAL '1 millisecond'";

/// The owner of a cell and the nodes that were seen recently: one row per node, or a single row without one. `$1` cell,
/// `$2` milliseconds, `$3` how many nodes at most.
pub(crate) const STANDING: &str = "SELECT c.epoch, c.owner, c.lease_ms, c.changes, \
     c.last_commit, c.hash, c.acknowledged, n.node, n.url, n.applied, \
     CAST(EXTRACT(EPOCH FROM (now() - n.seen)) * 1000 AS BIGINT), n.process \
     FROM caudal_cell c LEFT JOIN caudal_node n ON n.cell = c.cell \
     AND n.seen > now() - $2 * INTERVAL '1 millisecond' \
     WHERE c.cell = $1 ORDER BY n.seen DESC LIMIT $3";

/// The first commit of the record that contains a commit, or of the last record before it. `$1` cell, `$2` commit.
pub(crate) const BEGINS: &str = "SELECT first_commit FROM caudal_log \
     WHERE cell = $1 AND first_commit <= $2 ORDER BY first_commit DESC LIMIT 1";

/// Some records in order. `$1` cell, `$2` the smallest first commit, `$3` how many.
pub(crate) const PAGE: &str = "SELECT first_commit, commits, hash, length, body FROM caudal_log \
     WHERE cell = $1 AND first_commit >= $2 ORDER BY first_commit LIMIT $3";
