// A client's process with Go's net/http: go run go_client.go AUTHORITY CONNECTIONS.
//
// Prints a greeting, then performs each assignment from a line of JSON on standard input, and prints its measurement.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

type assignment struct {
	Kind   string `json:"kind"`
	URL    string `json:"url"`
	Times  int    `json:"times"`
	AtOnce int    `json:"atOnce"`
	Length int64  `json:"length"`
}

type result struct {
	Seconds    float64 `json:"seconds"`
	Processor  float64 `json:"processor"`
	PageFaults int64   `json:"pageFaults"`
	Bytes      int64   `json:"bytes"`
	Peak       int64   `json:"peak"`
	Resident   int64   `json:"resident"`
	Error      string  `json:"error,omitempty"`
}

// repeated is a body of zeros.
type repeated struct{}

func (repeated) Read(room []byte) (int, error) {
	for index := range room {
		room[index] = 0
	}
	return len(room), nil
}

func receive(client *http.Client, request *http.Request, keeps bool) (int64, error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		return 0, fmt.Errorf("status %d", response.StatusCode)
	}
	if !keeps {
		return io.Copy(io.Discard, response.Body)
	}
	body, err := io.ReadAll(response.Body)
	return int64(len(body)), err
}

func fetch(client *http.Client, work assignment) (sum int64, failure error) {
	var lock sync.Mutex
	var all sync.WaitGroup
	for index := 0; index < work.AtOnce; index++ {
		part := work.Times / work.AtOnce
		if index < work.Times%work.AtOnce {
			part++
		}
		all.Add(1)
		go func() {
			defer all.Done()
			var own int64
			var err error
			for ; part > 0 && err == nil; part-- {
				request, _ := http.NewRequest("GET", work.URL, nil)
				var count int64
				count, err = receive(client, request, true)
				own += count
			}
			lock.Lock()
			defer lock.Unlock()
			sum += own
			if err != nil {
				failure = err
			}
		}()
	}
	all.Wait()
	return sum, failure
}

func perform(client *http.Client, work assignment) (int64, error) {
	switch work.Kind {
	case "fetch":
		return fetch(client, work)
	case "download":
		request, _ := http.NewRequest("GET", work.URL, nil)
		return receive(client, request, false)
	}
	request, _ := http.NewRequest("PUT", work.URL, io.LimitReader(repeated{}, work.Length))
	request.ContentLength = work.Length
	_, err := receive(client, request, true)
	return work.Length, err
}

func memory(key string) int64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == key {
			count, _ := strconv.ParseInt(fields[1], 10, 64)
			return count * 1024
		}
	}
	return 0
}

func usage() (processor float64, faults int64) {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9, usage.Minflt
}

func measure(client *http.Client, work assignment) (measured result) {
	os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	processor, faults := usage()
	start := time.Now()
	count, err := perform(client, work)
	if err != nil {
		return result{Error: err.Error()}
	}
	measured.Seconds = time.Since(start).Seconds()
	processorAfter, faultsAfter := usage()
	measured.Processor, measured.PageFaults = processorAfter-processor, faultsAfter-faults
	measured.Bytes = count
	measured.Peak, measured.Resident = memory("VmHWM:"), memory("VmRSS:")
	return measured
}

func main() {
	authority, err := os.ReadFile(os.Args[1])
	connections, _ := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{
		MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, DisableCompression: true, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: trusted, ClientSessionCache: tls.NewLRUClientSessionCache(256)},
	}}
	output := json.NewEncoder(os.Stdout)
	output.Encode(map[string]string{"version": runtime.Version()})
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var work assignment
		if err := json.Unmarshal(input.Bytes(), &work); err != nil {
			panic(err)
		}
		output.Encode(measure(client, work))
	}
}
