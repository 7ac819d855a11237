// Text of models. It is shown as Markdown and never trusted: what could load or run anything is removed.
import DOMPurify from 'dompurify';
import { marked } from 'marked';
import { useMemo } from 'preact/hooks';
import { escape } from './code';

// HTML of the model's is shown as it is written, and a picture as a link to it: what never becomes an element cannot
// even try to load. The sanitizer comes after that.
marked.use({
  renderer: {
    html: ({ text }) => escape(text),
    image({ href, text }) {
      return this.link({ type: 'link', raw: '', href, text, tokens: [{ type: 'text', raw: text, text: text || href }] });
    },
  },
});

const clean = {
  FORBID_TAGS: ['img', 'style', 'form', 'input', 'button', 'svg', 'math', 'video', 'audio', 'picture', 'iframe'],
  FORBID_ATTR: ['style', 'class', 'id', 'name', 'srcset'],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
};

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer nofollow');
});

export function Markdown({ text }: { text: string }) {
  const html = useMemo(() => DOMPurify.sanitize(marked.parse(text, { async: false, gfm: true, breaks: false }), clean), [text]);
  return <div class="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}
