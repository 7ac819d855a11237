# Everything that must hold before a change goes in, as in CI. Stages: deps tidy generate format vet lint console build test
check *stages:
    .ci/test {{stages}}

# The tests alone, quickly; says what it skipped for want of a program
test *args='./...':
    go test {{args}}

# The linters alone
lint:
    .ci/test format vet lint

# The console alone: types of its sources, then its journeys in a real browser
console *args:
    .ci/test console
    go test ./api/console ./cmd/hecate/blackbox/console {{args}}

# The console's libraries anew, at the versions of .ci/console/package.json
console-libraries:
    .ci/console/vendor

# Format the code
fmt:
    go tool -modfile=.ci/tools/go.mod golangci-lint fmt

# The benchmarks; the first argument is a pattern of names
bench *args:
    .ci/bench {{args}}

# The binary, in bin/
build:
    CGO_ENABLED=0 go build -trimpath -o bin/hecate ./cmd/hecate

# A first look: a task against a built-in model, from start to answer
demo *args:
    go run ./cmd/hecate demo {{args}}

# The server
serve *args:
    go run ./cmd/hecate serve {{args}}

# Write the generated documents anew
docs:
    go generate ./...
