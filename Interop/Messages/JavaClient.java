// java.net.http.HttpClient with the tasks of observe.py.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class JavaClient {
  private static final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private static final HttpClient control = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  // The tasks are flat objects whose values are strings without escapes, or null: there is no JSON in the JDK.
  private static final Pattern task = Pattern.compile("\\{[^}]*\\}");

  public static void main(String[] arguments) throws Exception {
    String tasks = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
    System.out.println("java.net.http of " + System.getProperty("java.vm.name") + " " + Runtime.version());
    for (Matcher each = task.matcher(tasks); each.find();) System.out.println(perform(each.group()));
    System.exit(0);
  }

  private static String perform(String task) throws Exception {
    String url = member(task, "url");
    HttpResponse<byte[]> response;
    try {
      response = send(client, member(task, "method"), url);
    } catch (TimeoutException error) {
      return "{\"silent\": true}";
    } catch (Exception error) {
      return "{\"refused\": \"" + escaped(error.getClass().getSimpleName() + ": " + error.getMessage()) + "\"}";
    }
    if (member(task, "idle") != null) send(control, "GET", member(task, "idle"));
    String next = "null";
    try {
      byte[] body = send(client, member(task, "next"), url + "next").body();
      next = "\"" + escaped(new String(body, StandardCharsets.ISO_8859_1)) + "\"";
    } catch (Exception error) {
    }
    String body = Base64.getEncoder().encodeToString(response.body());
    return "{\"status\": " + response.statusCode() + ", \"body\": \"" + body + "\", \"next\": " + next + "}";
  }

  private static HttpResponse<byte[]> send(HttpClient client, String method, String url) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(url))
        .method(method, HttpRequest.BodyPublishers.noBody()).build();
    try {
      // The request's own timeout ends with the head.
      return client.sendAsync(request, HttpResponse.BodyHandlers.ofByteArray()).get(2, TimeUnit.SECONDS);
    } catch (ExecutionException error) {
      throw error.getCause() instanceof Exception cause ? cause : error;
    }
  }

  private static String member(String task, String name) {
    Matcher found = Pattern.compile("\"" + name + "\": (?:\"([^\"]*)\"|null)").matcher(task);
    return found.find() ? found.group(1) : null;
  }

  private static String escaped(String text) {
    StringBuilder escaped = new StringBuilder();
    for (char character : text.toCharArray()) {
      boolean isPlain = character >= ' ' && character < 127 && character != '"' && character != '\\';
      escaped.append(isPlain ? String.valueOf(character) : String.format("\\u%04x", (int) character));
    }
    return escaped.toString();
  }
}
