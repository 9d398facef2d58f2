# Signs a new account up, and defines what the examples of these pages use: `get path`, `post path body`, `patch path body`, `id_of`.
api=${api:-http://localhost:3000/api/v1}
json='content-type: application/json'
token=$(curl -s $api/auth/register -H "$json" -d '{"name":"Grace","email":"grace-'$$'@example.com","password":"correct horse"}' |
  sed 's/.*"access_token":"\([^"]*\)".*/\1/')
auth="authorization: Bearer $token"
get() { curl -s -w '\n' "$api$1" -H "$auth"; }
post() { curl -s -w '\n' "$api$1" -H "$auth" -H "$json" -d "$2"; }
patch() { curl -s -w '\n' -X PATCH "$api$1" -H "$auth" -H "$json" -d "$2"; }
id_of() { sed 's/^{"id":"\([^"]*\)".*/\1/'; }
