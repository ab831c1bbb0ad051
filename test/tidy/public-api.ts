// The exports of all entry points of the package, as the compiler resolves them, with their JSDoc.

import { join } from 'node:path';
import {
  isBlock,
  isCallExpression,
  isClassDeclaration,
  isFunctionDeclaration,
  isIdentifier,
  isLiteralTypeNode,
  isMethodDeclaration,
  isMethodSignatureDeclaration,
  isParameterDeclaration,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
  isStringLiteral,
  isTypeLiteralNode,
  isVariableDeclaration,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import {
  API,
  type Symbol as CompilerSymbol,
  type Project,
  SymbolFlags,
} from 'typescript/unstable/sync';
import { type Manifest, sourceOf } from './package-exports.ts';
import { readProjectFile } from './project-files.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Interfaces that most users hold in their hands. */
const MAIN_TYPES: readonly string[] = [
  ...['Context', 'StepContext', 'Pipeline', 'Handle', 'Worker', 'Session', 'HeldLease', 'Sweeper'],
  ...['LeaseObserver', 'ExecutionObserver', 'Archive', 'KernelStore', 'Election', 'Pool', 'Server'],
  ...['Registry', 'LeaseRecorder', 'TestHoldfast', 'FaultyStore', 'Marks'],
];

export interface PublicMember {
  /** `Session.acquire`; the parts of an inline type follow: `AcquireOutcome.lease`. */
  readonly name: string;
  readonly place: string;
  readonly isDocumented: boolean;
  readonly docs: string;
}

export interface PublicExport extends PublicMember {
  /** As users import it: `holdfast/recipes`. */
  readonly entry: string;
  readonly isValue: boolean;
  readonly sort: 'function' | 'class' | 'constant' | 'type';
  /** Its declarations with the comments in them, without bodies and private members. */
  readonly declaration: string;
  /** A function, a class or a main type. */
  readonly needsExample: boolean;
  readonly members: readonly PublicMember[];
}

/** Each declaration once, under the first entry point that exports it. */
export function publicApi(): readonly PublicExport[] {
  const api = new API({ cwd: ROOT });
  try {
    const config = join(ROOT, 'tsconfig.json');
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    if (project === undefined) throw new Error('tsconfig.json was not loaded.');
    const seen = new Set<string>();
    return entryPoints().flatMap(([entry, path]) =>
      exportsOf(project, entry, path).filter(({ place }) => {
        const isNew = !seen.has(place);
        seen.add(place);
        return isNew;
      }),
    );
  } finally {
    api.close();
  }
}

function entryPoints(): readonly (readonly [entry: string, path: string])[] {
  const { exports } = JSON.parse(readProjectFile('package.json')) as Manifest;
  return Object.entries(exports).flatMap(([entry, target]) =>
    typeof target === 'string'
      ? []
      : [[`holdfast${entry.slice(1)}`, sourceOf(target['default'] ?? '')] as const],
  );
}

function exportsOf(project: Project, entry: string, path: string): readonly PublicExport[] {
  const { checker, program } = project;
  const file = program.getSourceFile(join(ROOT, path));
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`${path} has no exports.`);
  return checker.getExportsOfModule(module).flatMap((exported) => {
    const symbol =
      (exported.flags & SymbolFlags.Alias) === 0 ? exported : checker.getAliasedSymbol(exported);
    const nodes = nodesOf(project, symbol);
    const [first] = nodes;
    if (first === undefined) return [];
    const docs = nodes.map(docsOf).filter(Boolean).join('\n');
    return {
      entry,
      name: exported.name,
      place: placeOf(first),
      isValue: (symbol.flags & SymbolFlags.Value) !== 0,
      isDocumented: docs !== '',
      docs,
      sort: sortOf(first),
      declaration: nodes.map(declarationOf).join('\n'),
      needsExample: MAIN_TYPES.includes(exported.name) || nodes.some(isCalled),
      members: nodes.flatMap((node) => membersOf(node, { project, name: exported.name, docs })),
    };
  });
}

interface MemberContext {
  readonly project: Project;
  readonly name: string;
  /** The JSDoc of everything around it. */
  readonly docs: string;
}

function membersOf(node: Node, around: MemberContext): readonly PublicMember[] {
  const members: PublicMember[] = [];
  node.forEachChild((child) => {
    if (isBlock(child) || isInitializer(child, node) || isAside(child)) return;
    const name = memberName(child);
    if (name === undefined) {
      members.push(...membersOf(child, around));
      return;
    }
    if (isHidden(child)) return;
    const docs = docsOf(child);
    const inside = {
      ...{ ...around, name: `${around.name}.${name}` },
      docs: `${around.docs}\n${docs}`,
    };
    const isDocumented = docs !== '' || (isTypeLiteralNode(node) && isNamed(child, name, around));
    members.push({ name: inside.name, place: placeOf(child), isDocumented, docs });
    members.push(...membersOf(child, inside), ...inferredMembers(child, inside));
  });
  return withOverloads(members);
}

/** The methods of an object that a function returns without a declared type. */
function inferredMembers(node: Node, { project, name }: MemberContext): readonly PublicMember[] {
  const made =
    isPropertyDeclaration(node) && node.type === undefined ? node.initializer : undefined;
  if (made === undefined || !isCallExpression(made)) return [];
  const type = project.checker.getTypeAtLocation(made);
  const members = type === undefined ? [] : project.checker.getPropertiesOfType(type);
  return members.flatMap((member) =>
    nodesOf(project, member).map((each) => {
      const docs = docsOf(each);
      const isDocumented = docs !== '';
      return { name: `${name}.${member.name}`, place: placeOf(each), isDocumented, docs };
    }),
  );
}

/** The declarations in files of the project. */
function nodesOf(project: Project, { declarations }: CompilerSymbol): readonly Node[] {
  return declarations
    .flatMap((handle) => handle.resolve(project) ?? [])
    .filter((node) => !node.getSourceFile().isDeclarationFile);
}

/** The JSDoc of one overload is that of all. */
function withOverloads(members: readonly PublicMember[]): readonly PublicMember[] {
  const documented = new Set(members.flatMap((each) => (each.docs === '' ? [] : [each.name])));
  return members.map((each) =>
    each.isDocumented ? each : { ...each, isDocumented: documented.has(each.name) },
  );
}

/** The JSDoc around a part of an inline type may explain it by naming it: `kind` by its value. */
function isNamed(member: Node, name: string, { docs }: MemberContext): boolean {
  const words = [name];
  member.forEachChild((type) => {
    if (isLiteralTypeNode(type) && isStringLiteral(type.literal)) words.push(type.literal.text);
    if (type.kind === SyntaxKind.UnionType)
      words.push(...[...type.getText().matchAll(/'([^']+)'/g)].map(([, word = '']) => word));
  });
  return words.some((word) => docs.includes(`\`${word}\``));
}

function memberName(node: Node): string | undefined {
  if (
    !isPropertySignatureDeclaration(node) &&
    !isPropertyDeclaration(node) &&
    !isMethodSignatureDeclaration(node) &&
    !isMethodDeclaration(node) &&
    node.kind !== SyntaxKind.GetAccessor
  )
    return undefined;
  const { name } = node as Node & { readonly name: Node };
  return isIdentifier(name) || isStringLiteral(name) ? name.text : name.getText();
}

/** Private, inherited with its JSDoc, or named by a symbol, such as `[Symbol.asyncDispose]`. */
function isHidden(node: Node): boolean {
  const { name, modifiers } = node as Node & { name: Node; modifiers?: readonly Node[] };
  return (
    name.kind === SyntaxKind.PrivateIdentifier ||
    name.kind === SyntaxKind.ComputedPropertyName ||
    (modifiers ?? []).some(({ kind }) =>
      [SyntaxKind.PrivateKeyword, SyntaxKind.ProtectedKeyword, SyntaxKind.OverrideKeyword].includes(
        kind,
      ),
    )
  );
}

/** Describes no value of the API: a constraint, the pattern of an `Extract`, or how the package makes an object. */
function isAside(node: Node): boolean {
  return (
    node.kind === SyntaxKind.TypeParameter ||
    node.kind === SyntaxKind.Constructor ||
    (node.kind === SyntaxKind.TypeReference && /^(?:Extract|Exclude)</.test(node.getText()))
  );
}

function isInitializer(child: Node, parent: Node): boolean {
  return (
    (isPropertyDeclaration(parent) ||
      isParameterDeclaration(parent) ||
      isVariableDeclaration(parent)) &&
    parent.initializer === child
  );
}

/** A function, or a class that is not an error. */
function isCalled(node: Node): boolean {
  if (isClassDeclaration(node)) return node.heritageClauses === undefined;
  return isFunctionDeclaration(node);
}

/** The last JSDoc block before a node, without its stars. */
function docsOf(node: Node): string {
  const statement = isVariableDeclaration(node) ? node.parent.parent : node;
  const { text } = statement.getSourceFile();
  const before = text.slice(statement.pos, statement.getStart());
  const block = [...before.matchAll(/\/\*\*(.*?)\*\//gs)].at(-1)?.[1] ?? '';
  return block.replaceAll(/^[ \t]*\* ?/gm, '').trim();
}

function placeOf(node: Node): string {
  const file = node.getSourceFile();
  const { line } = file.getLineAndCharacterOfPosition(node.getStart());
  return `${file.fileName.slice(ROOT.length + 1)}:${line + 1}`;
}

function sortOf(node: Node): PublicExport['sort'] {
  if (isFunctionDeclaration(node)) return 'function';
  if (isClassDeclaration(node)) return 'class';
  return isVariableDeclaration(node) ? 'constant' : 'type';
}

function declarationOf(node: Node): string {
  const text = node.getText().replace(/^export (?:async )?/, '');
  if (isFunctionDeclaration(node))
    return `${withoutBody(node).replace(/^export (?:async )?/, '')};`;
  if (isVariableDeclaration(node)) return constantText(node);
  return isClassDeclaration(node) ? classText(node) : text;
}

/** A constant without a written type has only its value to show. */
function constantText(node: Node): string {
  const { name, type } = node as Node & { readonly name: Node; readonly type?: Node };
  return type === undefined
    ? `const ${node.getText()};`
    : `const ${name.getText()}: ${type.getText()};`;
}

function classText(node: Node): string {
  const { members } = node as Node & { readonly members: readonly Node[] };
  const [head = ''] = node.getText().split('{');
  const shown = members.filter((each) => memberName(each) !== undefined && !isHidden(each));
  const texts = shown.map((each) => {
    const docs = docsOf(each);
    const comment = docs === '' ? '' : `  /** ${docs.replaceAll('\n', '\n   * ')} */\n`;
    return `${comment}  ${withoutBody(each).replaceAll(/\basync /g, '')};`;
  });
  return `${head.replace(/^export /, '').trim()} {\n${texts.join('\n')}\n}`;
}

/** A member or function up to its body or its value. */
function withoutBody(node: Node): string {
  const { body, initializer, type } = node as Node & {
    readonly body?: Node;
    readonly initializer?: Node;
    readonly type?: Node;
  };
  const { text } = node.getSourceFile();
  const end =
    body?.getStart() ?? (type === undefined ? undefined : initializer && type.end) ?? node.end;
  return text.slice(node.getStart(), end).trim().replace(/[;=]$/, '').trim();
}
