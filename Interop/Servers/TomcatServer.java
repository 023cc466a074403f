import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.cert.CertificateFactory;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http2.Http2Protocol;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SSLHostConfigCertificate;

/** Tomcat with the contract's paths. Arguments: port, folder of keys, file that /bytes sends, working folder. */
public class TomcatServer {
  static final int PIECE = 64 << 10;
  static final long BODY_LIMIT = 1 << 20;

  public static void main(String[] arguments) throws Exception {
    String keys = arguments[1], body = arguments[2], folder = arguments[3];
    Tomcat tomcat = new Tomcat();
    tomcat.setBaseDir(folder);
    tomcat.setConnector(connector(arguments[0], keys));
    var context = tomcat.addContext("", folder);
    Tomcat.addServlet(context, "paths", new Paths(body));
    context.addServletMappingDecoded("/*", "paths");
    tomcat.start();
    tomcat.getServer().await();
  }

  static Connector connector(String port, String keys) throws Exception {
    Connector connector = new Connector("org.apache.coyote.http11.Http11NioProtocol");
    connector.setPort(Integer.parseInt(port));
    connector.setSecure(true);
    connector.setScheme("https");
    for (var property : Map.of(
        "address", "127.0.0.1", "SSLEnabled", "true", "keepAliveTimeout", "1000", "maxKeepAliveRequests", "100",
        "compression", "on", "compressibleMimeType", "text/plain", "allowedTrailerHeaders", "x-sum").entrySet()) {
      connector.setProperty(property.getKey(), property.getValue());
    }
    SSLHostConfig host = new SSLHostConfig();
    SSLHostConfigCertificate certificate = new SSLHostConfigCertificate(host, SSLHostConfigCertificate.Type.RSA);
    certificate.setCertificateFile(keys + "/server.pem");
    certificate.setCertificateKeyFile(keys + "/server.key");
    host.addCertificate(certificate);
    host.setCertificateVerification("required");
    KeyStore clients = KeyStore.getInstance("PKCS12");
    clients.load(null, null);
    try (InputStream authority = new FileInputStream(keys + "/ca.pem")) {
      clients.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(authority));
    }
    host.setTrustStore(clients);
    connector.addSslHostConfig(host);
    Http2Protocol http2 = new Http2Protocol();
    http2.setKeepAliveTimeout(1000);
    connector.addUpgradeProtocol(http2);
    return connector;
  }

  static class Paths extends HttpServlet {
    private final String body;

    Paths(String body) { this.body = body; }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
      boolean isSlow = "pace=slow".equals(request.getQueryString());
      response.setContentType("text/plain");
      switch (request.getRequestURI()) {
        case "/hello" -> response.getWriter().print("hello");
        case "/text" -> response.getWriter().print("martlet ".repeat(10_000));
        case "/early" -> refuse(response, 403);
        case "/sink" -> sink(request, response, isSlow);
        case "/small" -> {
          if (request.getContentLengthLong() > BODY_LIMIT) refuse(response, 413); else sink(request, response, false);
        }
        case "/bytes" -> send(response, isSlow);
        case "/trailers" -> {
          response.setHeader("Trailer", "x-sum");
          response.setTrailerFields(() -> Map.of("x-sum", "42"));
          response.getOutputStream().print("body");
          response.flushBuffer();
        }
        default -> refuse(response, 404);
      }
    }

    private void refuse(HttpServletResponse response, int status) throws IOException {
      response.setStatus(status);
      response.getWriter().print("no");
    }

    private void sink(HttpServletRequest request, HttpServletResponse response, boolean isSlow) throws IOException {
      try {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] room = new byte[PIECE];
        InputStream input = request.getInputStream();
        long size = 0;
        for (int count; (count = input.read(room)) >= 0; size += count) {
          digest.update(room, 0, count);
          if (isSlow) Thread.sleep(1);
        }
        Map<String, String> trailers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        trailers.putAll(request.getTrailerFields());
        String trailer = trailers.getOrDefault("x-sum", "");
        response.getWriter().print(size + " " + HexFormat.of().formatHex(digest.digest()) + " " + trailer);
      } catch (java.security.NoSuchAlgorithmException | InterruptedException error) {
        throw new IOException(error);
      }
    }

    private void send(HttpServletResponse response, boolean isSlow) throws IOException {
      response.setContentType("application/octet-stream");
      byte[] room = new byte[PIECE];
      OutputStream output = response.getOutputStream();
      try (InputStream input = new FileInputStream(body)) {
        if (!isSlow) response.setContentLengthLong(input.available());
        for (int count; (count = input.read(room)) > 0;) {
          if (isSlow) Thread.sleep(1);
          output.write(room, 0, count);
        }
      } catch (InterruptedException error) {
        throw new IOException(error);
      }
    }
  }
}
