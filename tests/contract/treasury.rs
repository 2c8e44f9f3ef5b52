//! The rows of the treasury, in both families.

use super::table::BAD_CVUS;
use super::{ROW, Row};

pub fn rows() -> Vec<Row> {
    let cvu = Row {
        path: |ids| vec![&ids.cvu],
        malformed: BAD_CVUS,
        ..ROW
    };
    let mut rows = vec![
        Row {
            operation: "readTreasury",
            ..ROW
        },
        Row {
            operation: "listPositions",
            query: "?q=holder&min=0&max=1000.00&limit=10",
            ..ROW
        },
        Row {
            operation: "readPosition",
            ..cvu
        },
        Row {
            operation: "listPositionMovements",
            query: "?from=2020-01-01&limit=5&offset=0",
            ..cvu
        },
        Row {
            operation: "readHistoricalPosition",
            query: "?date=2024-02-29",
            ..cvu
        },
        Row {
            operation: "walletTesoreria",
            ..ROW
        },
        Row {
            operation: "walletSaldosClientes",
            query: "?q=holder&page=0&pageSize=10",
            ..ROW
        },
        Row {
            operation: "walletSaldoClienteByCVU",
            ..cvu
        },
        Row {
            operation: "walletSaldoClienteByIdCuenta",
            path: |ids| vec![&ids.account],
            malformed: &["x", "-1", "1.0", "%00", "99999999999999999999"],
            // Every realm counts its accounts from 1.
            public: true,
            ..ROW
        },
        Row {
            operation: "walletMovimientosCliente",
            query: "?cvu=OWN_CVU&from=01-01-2020&limit=5",
            ..ROW
        },
        Row {
            operation: "walletSaldoClienteHistoricoByCVU",
            query: "?date=29-02-2024",
            ..cvu
        },
    ];
    rows.extend(books());
    rows
}

/// The rows of the collector account's day and of the books.
fn books() -> [Row; 7] {
    [
        Row {
            operation: "listBookAccounts",
            ..ROW
        },
        Row {
            operation: "readTrialBalance",
            query: "?date=2024-02-29",
            ..ROW
        },
        Row {
            operation: "listBookEntries",
            query: "?account=clients&from=2020-01-01&limit=10",
            ..ROW
        },
        Row {
            operation: "readCollectorDay",
            ..ROW
        },
        Row {
            operation: "listClosedDays",
            past: true,
            ..ROW
        },
        Row {
            operation: "readClosedDay",
            status: 404,
            path: |_| vec!["2024-02-29"],
            past: true,
            ..ROW
        },
        Row {
            operation: "readDayProof",
            status: 404,
            path: |ids| vec!["2024-02-29", &ids.cvu],
            past: true,
            ..ROW
        },
    ]
}
