package main

import (
	"os/exec"

	v1 "hecate/api/v1"
	"hecate/tools/sandbox"
)

// The values of HECATE_TASK_SANDBOX.
const (
	sandboxAuto     = "auto"     // commands are held by the wrapper that works here, if one does
	sandboxNone     = "none"     // never
	sandboxRequired = "required" // commands that are not held to what they may do are refused
)

// wrapperOf is what holds the commands of a server.
func wrapperOf(c config) sandbox.Wrapper {
	if c.Sandbox == sandboxNone {
		return sandbox.Wrapper{Kind: sandbox.WrapperNone, Reason: "HECATE_TASK_SANDBOX=none"}
	}
	return sandbox.Detect()
}

// proofOf is when decisions need an operator's token: always, if a command without network
// may reach the server all the same.
func proofOf(c config, w sandbox.Wrapper) v1.Proof {
	if c.OperatorProof == v1.ProofAuto && w.Online {
		return v1.ProofAlways
	}
	return c.OperatorProof
}

// findRTK is the path of rtk, which shortens what commands print; "" if it is not there.
func findRTK() string {
	path, err := exec.LookPath("rtk")
	if err != nil {
		return ""
	}
	return path
}
