package isolde.replay;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Runs transactions of an application, each in a thread with a connection of its own. Before a
 * statement, a commit or a rollback goes to the database, the scheduler is asked for the turn; after
 * it, the scheduler is told what came of it.
 *
 * Lines both ways, fields separated by tabs, texts in base 64. The first line of standard input is:
 * port, password of this run, number of threads, directory of the application's classes.
 */
public final class Replayer {
    public static void main(String[] arguments) throws Exception {
        BufferedReader input =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String[] fields = input.readLine().split("\t");
        int port = Integer.parseInt(fields[0]);
        int count = Integer.parseInt(fields[2]);
        Path classes = Paths.get(Line.decoded(fields[3]));
        // An application that reads from its user finds nobody there; the rest of this is not for it.
        System.setIn(new ByteArrayInputStream(new byte[0]));
        for (int at = 0; at < count; at++) {
            Line line = new Line(port);
            line.send("HELLO\t" + fields[1] + "\t" + at);
            Thread thread = new Thread(() -> new Client(line, classes).serve(), "instance " + (at + 1));
            thread.setDaemon(true);
            thread.start();
        }
        // The scheduler holds the other end: when it is gone, so are we.
        while (input.readLine() != null) {}
        System.exit(0);
    }
}

/** The connection to the scheduler. */
final class Line {
    private final BufferedReader in;
    private final OutputStream out;

    Line(int port) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        out = socket.getOutputStream();
    }

    void send(String line) {
        try {
            out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            out.flush();
        } catch (IOException gone) {
            throw new Ended();
        }
    }

    String receive() {
        try {
            String line = in.readLine();
            if (line == null) {
                throw new Ended();
            }
            return line;
        } catch (IOException gone) {
            throw new Ended();
        }
    }

    static String encoded(String text) {
        byte[] bytes = String.valueOf(text).getBytes(StandardCharsets.UTF_8);
        return Base64.getEncoder().encodeToString(bytes);
    }

    static String decoded(String text) {
        return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
    }
}

/** Unwinds an application whose transaction is over. An error, so that few catch it. */
final class Ended extends Error {
    private static final long serialVersionUID = 1;

    Ended() {
        super("the transaction is over", null, false, false);
    }
}

/** One thread of the application. */
final class Client {
    /** Threads that an application starts belong to the instance that started them. */
    private static final InheritableThreadLocal<Client> OWN = new InheritableThreadLocal<>();

    private final Line line;
    private final Path classes;
    private Connection raw;

    /** What the application last said about it; the replay does not listen. */
    boolean autoCommit = true;

    /** Whether objects are made: what they do in the database is done before the transaction. */
    private boolean preparing;

    /** What the application saw since it was last reported. */
    private final StringBuilder seen = new StringBuilder();

    /** Whether the transaction has been committed or rolled back. */
    private boolean over;

    Client(Line line, Path classes) {
        this.line = line;
        this.classes = classes;
    }

    /** The instance that runs in this thread; null if none does. */
    static Client ofThread() {
        return OWN.get();
    }

    Connection raw() {
        return raw;
    }

    void serve() {
        OWN.set(this);
        try {
            while (true) {
                String[] fields = line.receive().split("\t", -1);
                try {
                    if (fields[0].equals("OPEN")) {
                        line.send("OPENED\t" + open(fields));
                    } else {
                        run(fields);
                    }
                } catch (Ended end) {
                    throw end;
                } catch (Throwable problem) {
                    line.send("BROKEN\t" + Line.encoded(Failures.text(problem)));
                }
            }
        } catch (Ended end) {
            // The scheduler is gone.
        }
    }

    /** OPEN, url, question for the session's number, texts. */
    private String open(String[] fields) throws Exception {
        Connections.release();
        raw = DriverManager.getConnection(Line.decoded(fields[1]));
        try (Statement statement = raw.createStatement()) {
            for (int at = 3; at < fields.length; at++) {
                statement.execute(Line.decoded(fields[at]));
            }
            try (ResultSet rows = statement.executeQuery(Line.decoded(fields[2]))) {
                rows.next();
                return rows.getString(1);
            }
        }
    }

    /** RUN, transaction, its source file, texts before, text first in it, names and arguments in turn. */
    private void run(String[] fields) throws Exception {
        raw.setAutoCommit(true);
        autoCommit = true;
        Map<String, Object> values = new LinkedHashMap<>();
        for (int at = 5; at + 1 < fields.length; at += 2) {
            values.put(Line.decoded(fields[at]), Values.read(fields[at + 1]));
        }
        Connections.replace();
        preparing = true;
        Entry entry = new Entry(
                new Maker(classes), Line.decoded(fields[1]), Line.decoded(fields[2]), values);
        Object[] given = entry.arguments();
        Object target = entry.target();
        preparing = false;
        begin(Line.decoded(fields[3]), Line.decoded(fields[4]));
        seen.setLength(0);
        over = false;
        line.send("BEGUN");
        String problem = "";
        try {
            Object result = entry.method.invoke(target, given);
            saw("returned " + Values.shown(result));
            end("C");
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Ended)) {
                problem = Failures.text(thrown.getCause());
                try {
                    end("R");
                } catch (Ended | SQLException end) {
                    // It was over before, or the scheduler was told.
                }
            }
        } catch (Ended end) {
            // It was over before.
        } catch (SQLException refused) {
            // The commit was ours; the scheduler was told.
            problem = Failures.text(refused);
        }
        raw.rollback();
        line.send("END\t" + Line.encoded(seen.toString()) + "\t" + Line.encoded(problem));
    }

    private void begin(String before, String first) throws SQLException {
        try (Statement statement = raw.createStatement()) {
            for (String text : before.split("\n")) {
                if (!text.isEmpty()) {
                    statement.execute(text);
                }
            }
            raw.setAutoCommit(false);
            if (!first.isEmpty()) {
                statement.execute(first);
            }
        }
    }

    private void end(String how) throws SQLException {
        if (!over && !preparing) {
            turn(how, how.equals("C") ? "commit" : "rollback", () -> {
                if (how.equals("C")) {
                    raw.commit();
                } else {
                    raw.rollback();
                }
                return null;
            });
        }
    }

    void saw(String what) {
        seen.append(what).append('\n');
    }

    interface Work {
        Object run() throws Throwable;
    }

    void commit() throws SQLException {
        end("C");
    }

    void rollback() throws SQLException {
        end("R");
    }

    /** Waits for the turn, does the work, and tells what came of it. */
    synchronized Object turn(String kind, String text, Work work) throws SQLException {
        if (preparing) {
            return done(work);
        }
        if (over) {
            throw new Ended();
        }
        String report = Line.encoded(seen.toString());
        seen.setLength(0);
        line.send("WANT\t" + kind + "\t" + Line.encoded(text) + "\t" + report);
        String turn = line.receive();
        // What a method does before the transaction that is played: it goes on after its commit.
        boolean leads = turn.equals("LEAD");
        if (!leads && !turn.equals("GO")) {
            over = true;
            throw new Ended();
        }
        try {
            Object result = work.run();
            over |= !kind.equals("S") && !leads;
            String count = result instanceof Number ? result.toString() : "";
            line.send("DONE\t" + count);
            return result;
        } catch (Ended end) {
            throw end;
        } catch (SQLException failed) {
            line.send("FAIL\t" + failed.getSQLState() + "\t" + failed.getErrorCode() + "\t"
                    + Line.encoded(failed.getMessage()));
            // The transaction is lost: its locks go before anybody else has a turn.
            line.receive();
            over = true;
            try {
                raw.rollback();
            } finally {
                line.send("DONE\t");
            }
            throw failed;
        } catch (Throwable other) {
            throw new SQLException(other);
        }
    }

    private static Object done(Work work) throws SQLException {
        try {
            return work.run();
        } catch (SQLException | RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable other) {
            throw new SQLException(other);
        }
    }
}

/** What went wrong, in words. */
final class Failures {
    static String text(Throwable problem) {
        StringBuilder text = new StringBuilder(problem.toString());
        for (Throwable cause = problem.getCause(); cause != null; cause = cause.getCause()) {
            text.append("; because of ").append(cause);
        }
        return text.toString();
    }

    private Failures() {}
}
