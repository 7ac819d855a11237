package egress_test

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// TestMain lets the process trust the certificate of httptest, which is for example.com
// and 127.0.0.1, and takes all proxies out of the environment but one that nobody may use.
func TestMain(m *testing.M) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	s.Close()
	os.Setenv("GODEBUG", "x509usefallbackroots=1")
	x509.SetFallbackRoots(roots)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		os.Setenv(name, "http://127.0.0.1:1")
	}
	os.Unsetenv("NO_PROXY")
	os.Exit(m.Run())
}
