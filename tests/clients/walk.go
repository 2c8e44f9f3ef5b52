// The client that openapi-generator makes in Go against a running service: it has every operation of the document, and
// the amount that it sends is the amount that is posted, to the centavo.
//
// walk DEV_JSON OPENAPI_JSON, where DEV_JSON is the file that `caudal dev` writes into its folder.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"reflect"
	"strings"

	"walk/caudal"
)

// amount has more digits than 32 bits of binary floating point can hold.
const (
	amount = 1234567.89
	text   = "1234567.89"
	twice  = "2469135.78"
	thrice = "3703703.67"
)

func main() {
	var dev struct{ Url, TestKey string }
	read(os.Args[1], &dev)
	configuration := caudal.NewConfiguration()
	configuration.Servers = caudal.ServerConfigurations{{URL: dev.Url}}
	configuration.AddDefaultHeader("x-api-key", dev.TestKey)
	api := caudal.NewAPIClient(configuration)

	operations := everyOperation(api, os.Args[2])

	ctx, run := context.Background(), fmt.Sprintf("go-%d", os.Getpid())
	account, answer, err := api.AccountsAPI.CreateAccount(ctx).IdempotencyKey(run).
		CreateAccountDto(*caudal.NewCreateAccountDto("20267565393", "Gopher Prueba")).Execute()
	done(answer, err)
	kind := strings.ToUpper(strings.ReplaceAll(run, "-", "_"))
	_, answer, err = api.VoucherTypesAPI.CreateVoucherType(ctx).
		CreateVoucherTypeDto(*caudal.NewCreateVoucherTypeDto(kind, "Top-up", caudal.SENSE_CREDIT)).Execute()
	done(answer, err)

	// As a number and as text, in both families: what was sent is what comes back.
	number, words := amount, text
	for name, sent := range map[string]caudal.AmountDto{
		"number": caudal.Float64AsAmountDto(&number),
		"text":   caudal.StringAsAmountDto(&words),
	} {
		body := caudal.NewCreateComprobanteDto(kind, sent, run+name)
		made, answer, err := api.VouchersAPI.CreateComprobante(ctx, account.Cvu).CreateComprobanteDto(*body).Execute()
		done(answer, err)
		voucher, answer, err := api.VouchersAPI.ReadComprobante(ctx, made.Id).Execute()
		done(answer, err)
		same(name, voucher.Amount, text)
		shown, answer, err := api.WalletAPI.ReadWalletComprobante(ctx, made.Id).Execute()
		done(answer, err)
		same(name+" in the wallet family", fmt.Sprintf("%.2f", shown.Importe), text)
	}
	balance, answer, err := api.BalancesAPI.ReadBalance(ctx, account.Cvu).Execute()
	done(answer, err)
	same("balance", balance.Available, twice)

	wallet := caudal.NewCreateWalletComprobanteDto(account.WalletAccountId, caudal.Float64AsAmountDto(&number), run+"wallet")
	wallet.SetCodigo(kind)
	_, answer, err = api.WalletAPI.CreateWalletComprobante(ctx).CreateWalletComprobanteDto(*wallet).Execute()
	done(answer, err)
	saldo, answer, err := api.WalletAPI.ReadSaldoActualByCVU(ctx, account.Cvu).Execute()
	done(answer, err)
	same("saldo", fmt.Sprintf("%.2f", saldo.Saldo), thrice)
	fmt.Printf("Go: %d operations, balance %.2f\n", operations, saldo.Saldo)
}

// everyOperation checks that the client has a method for each operation of the document, webhooks included.
func everyOperation(api *caudal.APIClient, document string) int {
	// The requests of webhooks come from the service: the client does not send them, and has their service on the side.
	services := []reflect.Type{reflect.TypeOf(&caudal.EventsSentAPIService{})}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(*api)) {
		services = append(services, field.Type)
	}
	methods := map[string]bool{}
	for _, service := range services {
		for n := 0; n < service.NumMethod(); n++ {
			methods[service.Method(n).Name] = true
		}
	}
	type items map[string]map[string]struct{ OperationId string }
	var openapi struct{ Paths, Webhooks items }
	read(document, &openapi)
	found := 0
	for _, items := range []items{openapi.Paths, openapi.Webhooks} {
		for path, item := range items {
			for _, operation := range item {
				id := operation.OperationId
				if id == "" || !methods[strings.ToUpper(id[:1])+id[1:]] {
					log.Fatalf("the client has no operation %q of %s", id, path)
				}
				found++
			}
		}
	}
	if len(openapi.Webhooks) == 0 {
		log.Fatal("the document has no webhooks")
	}
	return found
}

func read(file string, into interface{}) {
	bytes, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(bytes, into)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func done(answer *http.Response, err error) {
	if err == nil {
		return
	}
	if failed, ok := err.(*caudal.GenericOpenAPIError); ok {
		log.Fatalf("%v: %s", err, failed.Body())
	}
	log.Fatal(answer, err)
}

func same(what, found, wanted string) {
	if found != wanted {
		log.Fatalf("%s: %s is posted in place of %s", what, found, wanted)
	}
}
