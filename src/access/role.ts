// What a key allows. Roles do not contain each other: a worker's key cannot submit, an operator's cannot work.
// `admin` alone is for the deployment: projects and keys.

export type Role = 'submit' | 'work' | 'operate' | 'admin';

export const ROLES: readonly Role[] = ['submit', 'work', 'operate', 'admin'];

export function isRole(value: unknown): value is Role {
  return (ROLES as readonly unknown[]).includes(value);
}
