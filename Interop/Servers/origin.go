// An origin with net/http: over TLS as a separate server, without TLS behind the servers that forward.
package main

import (
	"compress/gzip"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

const pieceSize = 64 << 10
const bodyLimit = 1 << 20
const pause = time.Millisecond

var (
	addr = flag.String("addr", "", "host and port")
	keys = flag.String("keys", "", "folder with server.pem, server.key, ca.pem: speaks TLS, and has limits")
	body = flag.String("body", "", "file that /bytes sends")
)

func main() {
	flag.Parse()
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	mux.HandleFunc("/early", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	mux.HandleFunc("/text", text)
	mux.HandleFunc("/sink", sink)
	mux.HandleFunc("/small", small)
	mux.HandleFunc("/form", form)
	mux.HandleFunc("/bytes", sendBytes)
	mux.HandleFunc("/trailers", trailers)
	server := &http.Server{Addr: *addr, Handler: mux, ErrorLog: log.New(io.Discard, "", 0)}
	if *keys == "" {
		log.Fatal(server.ListenAndServe())
	}
	authority, err := os.ReadFile(*keys + "/ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(authority)
	server.TLSConfig = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	server.IdleTimeout = time.Second
	server.MaxHeaderBytes = 32 << 10
	// few streams and the smallest windows: other servers have more of both
	err = http2.ConfigureServer(server, &http2.Server{
		MaxConcurrentStreams: 4, MaxUploadBufferPerStream: 1 << 16, MaxUploadBufferPerConnection: 1 << 16,
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.ListenAndServeTLS(*keys+"/server.pem", *keys+"/server.key"))
}

func text(w http.ResponseWriter, r *http.Request) {
	content := strings.Repeat("martlet ", 10000)
	w.Header().Set("Content-Type", "text/plain")
	if *keys == "" || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		io.WriteString(w, content)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	packed := gzip.NewWriter(w)
	io.WriteString(packed, content)
	packed.Close()
}

// Answers with the size, the SHA-256 and the trailer of the request's body.
func sink(w http.ResponseWriter, r *http.Request) {
	var err error
	digest := sha256.New()
	size := int64(0)
	if r.URL.Query().Get("reader") == "buffered" {
		var all []byte
		all, err = io.ReadAll(r.Body)
		digest.Write(all)
		size = int64(len(all))
	} else {
		size, err = io.CopyBuffer(digest, paced(r.Body, r), make([]byte, pieceSize))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, "%d %x %s", size, digest.Sum(nil), r.Trailer.Get("X-Sum"))
}

func small(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > bodyLimit {
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
		return
	}
	sink(w, r)
}

// Answers with each part of a form: its name, its file's name, the size and the SHA-256 of its content.
func form(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("reader") == "buffered" {
		if err := r.ParseMultipartForm(bodyLimit); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for name, values := range r.MultipartForm.Value {
			for _, value := range values {
				describe(w, name, "", strings.NewReader(value))
			}
		}
		for name, files := range r.MultipartForm.File {
			for _, file := range files {
				content, err := file.Open()
				if err != nil {
					log.Fatal(err)
				}
				describe(w, name, file.Filename, content)
			}
		}
		return
	}
	parts, err := r.MultipartReader()
	for err == nil {
		var part *multipart.Part
		part, err = parts.NextPart()
		if err == nil {
			describe(w, part.FormName(), part.FileName(), part)
		}
	}
	if err != io.EOF {
		fmt.Fprintln(w, err)
	}
}

func describe(w io.Writer, name string, file string, content io.Reader) {
	digest := sha256.New()
	size, _ := io.Copy(digest, content)
	fmt.Fprintf(w, "%s %s %d %x\n", name, file, size, digest.Sum(nil))
}

// Sends the file: with its length, or in pieces with pauses and without one.
func sendBytes(w http.ResponseWriter, r *http.Request) {
	file, err := os.Open(*body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	if r.URL.Query().Get("pace") != "slow" {
		if info, err := file.Stat(); err == nil {
			w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
		}
	}
	io.CopyBuffer(struct{ io.Writer }{w}, paced(file, r), make([]byte, pieceSize))
}

func trailers(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Trailer", "X-Sum")
	io.WriteString(w, "body")
	w.(http.Flusher).Flush()
	w.Header().Set("X-Sum", "42")
}

// A reader that pauses before each piece if the request says so.
func paced(source io.Reader, r *http.Request) io.Reader {
	if r.URL.Query().Get("pace") != "slow" {
		return struct{ io.Reader }{source}
	}
	return slow{source}
}

type slow struct{ source io.Reader }

func (s slow) Read(room []byte) (int, error) {
	time.Sleep(pause)
	return s.source.Read(room)
}
