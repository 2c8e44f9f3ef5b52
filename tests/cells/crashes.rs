//! The process ends at any point of a move: nobody notices, and another move into the same cell continues.

use super::{begun, brought, standing, with_cells};
use crate::portable::{batches, shown, worked};
use crate::support::{SOON, wait_until};

#[actix_web::test]
async fn a_move_that_is_cut_off_anywhere_goes_on() {
    let mut service = with_cells(2).await;
    let cvus = worked(&service).await;
    let (mut ended, mut there) = (0, 0);
    for round in 0..8_u32 {
        batches(&service.b, &cvus[0], &format!("many-{round}"), 4).await;
        let before = shown(&service.b, &cvus).await;
        let cell = 1 - there;
        begun(&service, cell).await;
        // each life of the process gets one step further, by entries copied or until the move is over
        let wanted = u64::from(round) * 300;
        wait_until("the move is so far", SOON, async || {
            let now = standing(&service).await;
            let last = now["generations"].as_array().unwrap().last().unwrap();
            let far = last["entries"].as_u64().is_some_and(|it| it >= wanted);
            (far || last["state"] != "copying").then_some(())
        })
        .await;
        service.crash().await;
        assert_eq!(shown(&service.b, &cvus).await, before, "round {round}");
        service.verified().await;
        let now = standing(&service).await["cell"].clone();
        if now == cell {
            ended += 1;
        }
        if round % 2 == 1 {
            service.b.credit(&cvus[1], "0.50").await;
            brought(&service, cell).await;
            there = cell;
        } else {
            there = u32::try_from(now.as_u64().unwrap()).unwrap();
        }
    }
    println!("{ended} of 8 moves had ended when the process did");
    let before = shown(&service.b, &cvus).await;
    service.end(false).await;
    service.lose_index();
    service.lose_index_of(1);
    service.begin().await;
    assert_eq!(shown(&service.b, &cvus).await, before);
    service.verified().await;
}
