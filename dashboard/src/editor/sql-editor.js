// CodeMirror for Nilometer's SQL: its keywords, completion of what is declared here, and problems at their place.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { SQLDialect, sql } from '@codemirror/lang-sql';
import { HighlightStyle, bracketMatching, syntaxHighlighting } from '@codemirror/language';
import { setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState } from '@codemirror/state';
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const DECLARING = 'create stream query sensor view table network pushed sensed from delay key expect future coordinates unit with pause resume drop replace show explain starting beginning first last of';
const TYPES = 'int float string boolean time point duration';

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '600' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--sleep)' },
  { tag: [tags.lineComment, tags.blockComment], color: 'var(--muted)', fontStyle: 'italic' },
]);
const theme = EditorView.theme({
  '&': { backgroundColor: 'transparent', color: 'var(--ink)', fontSize: '13.5px', height: '100%' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--accent)', padding: '10px 0' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--muted)', border: '0' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--soft) 60%, transparent)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { background: 'color-mix(in srgb, var(--accent) 26%, transparent)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', border: '1px solid var(--line)', borderRadius: '8px', overflow: 'hidden', color: 'var(--ink)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent-soft)', color: 'var(--accent)' },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal' },
  '.cm-diagnostic-error': { borderLeft: '3px solid var(--bad)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad) 1.5px', textUnderlineOffset: '4px', textDecorationSkipInk: 'none' },
  '.cm-lintPoint-error:after': { borderBottomColor: 'var(--bad)' },
  '.cm-placeholder': { color: 'var(--muted)' },
});

function optionsOf(words) {
  const columns = new Map();
  for (const extent of words.extents)
    for (const one of extent.columns) if (!columns.has(one.name)) columns.set(one.name, { label: one.name, type: 'property', detail: `${one.type}${one.unit ? ` ${one.unit}` : ''} · ${extent.name}`, boost: 2 });
  return [
    ...words.extents.map((one) => ({ label: one.name, type: 'class', detail: one.kind, boost: 3 })),
    ...columns.values(),
    ...words.functions.map((one) => ({ label: one.kind === 'scalar' ? one.name : one.name.toUpperCase(), type: 'function', detail: one.kind, info: one.about || undefined, apply: (view, completion, from, to) => view.dispatch({ changes: { from, to, insert: `${completion.label}()` }, selection: { anchor: from + completion.label.length + 1 } }) })),
    ...[...new Set([...words.keywords, ...DECLARING.toUpperCase().split(' ')])].map((one) => ({ label: one, type: 'keyword' })),
  ];
}

export function makeEditor(parent, text, { onchange, onrun }) {
  const language = new Compartment();
  let options = [];
  let words = null;
  const complete = (context) => {
    const dotted = context.matchBefore(/(\w+)\.(\w*)/);
    if (dotted) {
      const extent = words?.extents.find((one) => one.name.toLowerCase() === dotted.text.split('.')[0].toLowerCase());
      if (extent) return { from: dotted.from + dotted.text.indexOf('.') + 1, options: extent.columns.map((one) => ({ label: one.name, type: 'property', detail: one.type })), validFor: /^\w*$/ };
    }
    const word = context.matchBefore(/\w+/);
    return word || context.explicit ? { from: word?.from ?? context.pos, options, validFor: /^\w*$/ } : null;
  };
  const dialect = (found) =>
    SQLDialect.define({
      keywords: [...(found?.keywords ?? []), 'select from where group by having as and or not'].join(' ').toLowerCase() + ' ' + DECLARING,
      types: TYPES,
      builtin: (found?.functions ?? []).map((one) => one.name).join(' ').toLowerCase(),
    });
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(document.querySelector('meta[name=csp-nonce]')?.content ?? ''),
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        EditorView.lineWrapping,
        placeholder('SELECT id, AVG(depth) AS mean FROM river [RANGE 1 HOUR SLIDE 15 MINUTES] GROUP BY id'),
        autocompletion({ override: [complete], icons: false }),
        keymap.of([{ key: 'Mod-Enter', run: () => (onrun(), true) }, ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
        language.of(sql({ dialect: dialect(null) }).language),
        syntaxHighlighting(colours),
        theme,
        EditorView.contentAttributes.of({ 'aria-label': 'SQL' }),
        EditorView.updateListener.of((update) => update.docChanged && onchange(update.state.doc.toString())),
      ],
    }),
  });
  return {
    view,
    text: () => view.state.doc.toString(),
    set: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    know(found) {
      words = found;
      options = optionsOf(found);
      view.dispatch({ effects: language.reconfigure(sql({ dialect: dialect(found) }).language) });
    },
    /** Mark the place of a problem, or none. */
    mark(problem) {
      const found = [];
      if (problem?.line) {
        const line = view.state.doc.line(Math.min(problem.line, view.state.doc.lines));
        const from = Math.min(line.from + problem.column - 1, view.state.doc.length);
        const to = Math.min(view.state.doc.length, from + (problem.length ?? 1));
        const told = [problem.detail, problem.found && `found ${problem.found}`, problem.hint].filter(Boolean).join(' — ');
        found.push({ from, to, severity: 'error', message: told });
      }
      view.dispatch(setDiagnostics(view.state, found));
    },
  };
}
