"""An authorization server with Authlib, whose clients sign their requests (RFC 7523), on the port of the first argument.
The second is the public key of its client `app` as a JSON Web Key."""
import json, os, sys

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # on the loopback interface
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, grants
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion
from flask import Flask
from joserfc.jwk import JWKRegistry

PORT, KEY = int(sys.argv[1]), JWKRegistry.import_key(json.loads(sys.argv[2]))
METHOD = "private_key_jwt"


class Client(ClientMixin):
  def get_client_id(self): return "app"
  def get_allowed_scope(self, scope): return scope or ""
  def check_grant_type(self, grant_type): return grant_type == "client_credentials"
  def check_endpoint_auth_method(self, method, endpoint): return method == METHOD


class Assertion(JWTBearerClientAssertion):
  CLIENT_AUTH_METHOD = METHOD
  used = set()

  def get_audiences(self): return [f"http://127.0.0.1:{PORT}/token", f"http://127.0.0.1:{PORT}"]
  def resolve_client_public_key(self, client): return KEY

  def validate_jti(self, claims, jti):
    is_new = jti not in self.used
    self.used.add(jti)
    return is_new


class Grant(grants.ClientCredentialsGrant):
  TOKEN_ENDPOINT_AUTH_METHODS = [METHOD]


app = Flask(__name__)
server = AuthorizationServer(
  app, query_client=lambda name: Client() if name == "app" else None, save_token=lambda token, request: None)
server.register_client_auth_method(METHOD, Assertion())
server.register_grant(Grant)
app.post("/token")(server.create_token_response)
app.run("127.0.0.1", PORT)
