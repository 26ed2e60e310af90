// A real PDS with its PLC directory, on loopback only, with nothing of either kept: `@atproto/dev-env` from npm.
//
// node bluesky-pds.js NODE_MODULES NAME...
//
// NODE_MODULES is the directory of that name that has `@atproto/dev-env`; each NAME becomes an account. Prints one line of
// JSON when it is ready, and serves until it is ended. Ports are free ones.
const { createRequire } = require('module')
const { createHmac } = require('crypto')
const { pathToFileURL } = require('url')
const net = require('net')
const path = require('path')

const [, , directory, ...names] = process.argv
const modules = createRequire(path.join(path.resolve(directory), 'here.js'))

// The packages listen on every address of the machine. Whatever this process opens is for loopback.
const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (...args) {
  const [first] = args
  if (typeof first === 'number' || /^\d+$/.test(first)) {
    args.splice(1, typeof args[1] === 'string' ? 1 : 0, '127.0.0.1')
  } else if (first && typeof first === 'object' && first.port !== undefined) {
    first.host = '127.0.0.1'
  }
  return listen.apply(this, args)
}

// Signs with the secret that `dev-env` gives its server. A real server's tokens expire after two hours; this one has.
function expiredToken(did) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const head = part({ typ: 'at+jwt', alg: 'HS256' })
  const claims = part({ scope: 'com.atproto.appPass', aud: 'did:web:localhost', sub: did, iat: now - 7260, exp: now - 60 })
  const signature = createHmac('sha256', 'jwt-secret').update(`${head}.${claims}`).digest('base64url')
  return `${head}.${claims}.${signature}`
}

async function main() {
  const { TestNetworkNoAppView, TestPds } = await import(pathToFileURL(modules.resolve('@atproto/dev-env')))
  const network = await TestNetworkNoAppView.create({})
  // Another server of the same network, on which nobody has an account, with the limits that servers have.
  const other = await TestPds.create({ didPlcUrl: network.plc.url, rateLimitsEnabled: true })
  const call = async (method, body, token) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const answer = await fetch(`${network.pds.url}/xrpc/${method}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }
  const accounts = {}
  for (const name of names) {
    const handle = `${name}.test`
    const login = { email: `${name}@example.test`, handle, password: 'main-password' }
    const { did, accessJwt } = await call('com.atproto.server.createAccount', login)
    const app = await call('com.atproto.server.createAppPassword', { name: 'sayonce' }, accessJwt)
    accounts[name] = { did, handle, appPassword: app.password, expiredToken: expiredToken(did) }
  }
  console.log(JSON.stringify({ url: network.pds.url, plc: network.plc.url, other: other.url, accounts }))
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
