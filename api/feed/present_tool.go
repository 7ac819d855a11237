package feed

import "hecate/domain/run"

type command struct {
	run.ShellCommand
	Command string `json:"command_string"`
	Exact   string `json:"command_string_base64,omitempty"`
}

func shellCommand(e run.ShellCommand) command {
	c := command{ShellCommand: e}
	c.Command, c.Exact = text(e.Command)
	return c
}

type output struct {
	run.ShellOutput
	Data  string `json:"data"`
	Exact string `json:"data_base64,omitempty"`
}

func shellOutput(e run.ShellOutput) output {
	o := output{ShellOutput: e}
	o.Data, o.Exact = text(e.Data)
	return o
}

// patch leaves the texts of a change to its artifacts. A direct write repeats its
// facts under telemetry's names.
type patch struct {
	run.FilePatch
	Diff    *struct{} `json:"diff,omitempty"`
	Content *struct{} `json:"content,omitempty"`
	*writeFacts
}

type writeFacts struct {
	FileOperation    string `json:"hecate.tool.file.operation"`
	FileBytesWritten int64  `json:"hecate.tool.file.bytes_written"`
	FileDiffBytes    int64  `json:"hecate.tool.file.diff_bytes"`
	FileExisted      bool   `json:"hecate.tool.file.before_existed"`
	FileStatus       string `json:"hecate.tool.file.artifact_status"`
}

func filePatch(e run.FilePatch) patch {
	p := patch{FilePatch: e}
	if e.FileArtifactID != "" {
		p.writeFacts = &writeFacts{e.Operation, e.BytesWritten, e.DiffBytes, e.BeforeExisted, e.ArtifactStatus}
	}
	return p
}

// settlement shows a result of ordinary size; a larger one is in the conversation.
type settlement struct {
	run.DispatchSettled
	Result      *string `json:"result,omitempty"`
	ResultBytes int64   `json:"result_bytes"`
}

func settled(e run.DispatchSettled) settlement {
	s := settlement{DispatchSettled: e, ResultBytes: e.Result.Len()}
	if e.Result.Ref() == nil {
		readable, _ := text(e.Result)
		s.Result = &readable
	}
	return s
}

type recordedArtifact struct {
	run.ArtifactRecorded
	Content   *struct{} `json:"content,omitempty"`
	SizeBytes int64     `json:"size_bytes"`
}

func artifactRecorded(e run.ArtifactRecorded) recordedArtifact {
	return recordedArtifact{ArtifactRecorded: e, SizeBytes: e.Content.Len()}
}

type statement struct {
	run.OutcomeStated
	Note string `json:"note,omitempty"`
}

func outcomeStated(e run.OutcomeStated) statement {
	note, _ := text(e.Note)
	return statement{OutcomeStated: e, Note: note}
}
