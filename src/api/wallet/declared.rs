//! Parameters that several operations of the wallet family have, as the document shows them: see
//! [`caudal_http::declared`].

use caudal_http::declared::declared;

declared! {
    /// The number of the account.
    CuentaInPath = Path "id" as u64;
    /// The number of the account.
    IdCuentaInPath = Path "idCuenta" as u64;
    /// A business day, `YYYY-MM-DD` or `DD-MM-YYYY`, not in the future: as it was at its end.
    Fecha = Query "fecha" as Option<String>;
    /// The same as `fecha`.
    FechaAsDate = Query "date" as Option<String>;
}
