//! Parameters of paths that several operations of the wallet family have: see [`caudal_http::declared`].

use caudal_ledger::ids::AccountNo;

use super::account;
use caudal_http::declared::{declared, field};

declared! {
    /// The number of the account.
    CuentaInPath = Path "id" as u64 => AccountNo: field(account);
    /// The number of the account.
    IdCuentaInPath = Path "idCuenta" as u64 => AccountNo: field(account);
}
