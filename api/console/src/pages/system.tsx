// The server itself, and what can be set of it over the API.
import { Grants } from '../system/permissions';
import { Policies } from '../system/policies';
import { Providers } from '../system/providers';
import { Server } from '../system/server';
import { Usage } from '../system/usage';
import { Tabs } from '../ui/tabs';
import { useTitle } from '../ui/title';

const parts = [['', 'Server', Server], ['usage', 'Cost', Usage], ['providers', 'Providers', Providers], ['policies', 'Work policies', Policies], ['permissions', 'Permissions', Grants]] as const;

/** isPart reports whether the system has a part of that name. */
export const isPart = (name: string) => parts.some(([p]) => p === name);

export function SystemPage({ part }: { part: string }) {
  const [id, name, View] = parts.find(([p]) => p === part) ?? parts[0];
  useTitle(id ? `${name} – System` : 'System');
  return (
    <div class="page">
      <div class="page-head"><h1>System</h1></div>
      <Tabs label="Parts of the system" tabs={parts.map(([p, title]) => ({ href: p ? `/system/${p}` : '/system', current: p === id, children: title }))} />
      <View />
    </div>
  );
}
