// A task by itself. Once it has a run, the latest run is what one wants to see.
import { useEffect, useState } from 'preact/hooks';
import { get, inOneSentence, post } from '../api/client';
import type { Run, Task } from '../api/types.gen';
import { attempt } from '../state/notices';
import { navigate, runPath } from '../state/router';
import { Button, Loading, Missing, Status } from '../ui/basics';
import { nameOf } from '../ui/format';
import { useTitle } from '../ui/title';
import { TaskFacts } from '../run/task-facts';

export function TaskPage({ id }: { id: string }) {
  const [task, setTask] = useState<Task>();
  const [failed, setFailed] = useState('');
  useTitle(task ? nameOf(task) : '');
  useEffect(() => {
    get<Task>(`/tasks/${id}`).then(
      (t) => (t.latest_run_id ? navigate(runPath(id, t.latest_run_id), true) : setTask(t)),
      (e) => setFailed(inOneSentence(e)),
    );
  }, [id]);
  if (failed) return <div class="page"><Missing>{failed}</Missing></div>;
  if (!task) return <Loading what="the task" />;
  const start = () => attempt(async () => navigate(runPath(id, (await post<Run>(`/tasks/${id}/start`)).id)));
  return (
    <div class="page">
      <nav class="crumbs" aria-label="Where you are"><a href="/tasks">Tasks</a></nav>
      <div class="page-head">
        <div>
          <h1>{nameOf(task)}</h1>
          <Status of={task.status} />
        </div>
        <Button kind="primary" act={start}>Start</Button>
      </div>
      <div class="card"><TaskFacts task={task} /></div>
    </div>
  );
}
