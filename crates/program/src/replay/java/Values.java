package isolde.replay;

import java.lang.reflect.Array;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * Values of arguments: n, b0, i5, r0.5, t and base 64, and lists of these in brackets. An object is the
 * list of the names of its fields and their values, in turn.
 */
final class Values {
    static Object read(String text) {
        return new Reader(text).value();
    }

    private static final class Reader {
        private final String text;
        private int at;

        Reader(String text) {
            this.text = text;
        }

        Object value() {
            char kind = at < text.length() ? text.charAt(at++) : 'n';
            if (kind == '[') {
                List<Object> all = new ArrayList<>();
                while (at < text.length() && text.charAt(at) != ']') {
                    all.add(value());
                    at += at < text.length() && text.charAt(at) == ',' ? 1 : 0;
                }
                at++;
                return all;
            }
            int from = at;
            while (at < text.length() && text.charAt(at) != ',' && text.charAt(at) != ']') {
                at++;
            }
            String rest = text.substring(from, at);
            switch (kind) {
                case 'b':
                    return rest.equals("1");
                case 'i':
                    return Long.valueOf(rest);
                case 'r':
                    return Double.valueOf(rest);
                case 't':
                    return Line.decoded(rest);
                default:
                    return null;
            }
        }
    }

    /** Whether values of that type are plain: not objects of the application. */
    static boolean can(Class<?> type) {
        return type.isPrimitive() || type.isArray() || type == Object.class
                || type.getName().startsWith("java.lang.") || type.getName().startsWith("java.math.")
                || type.getName().startsWith("java.time.") || type == UUID.class
                || java.util.Date.class.isAssignableFrom(type)
                || List.class.isAssignableFrom(type) || type == Collection.class || type == Set.class;
    }

    /** A value of a type; the types of the elements of lists count, where they are declared. */
    static Object as(Object value, Type declared) throws Exception {
        Class<?> type = raw(declared);
        if (value instanceof List) {
            return many((List<?>) value, declared, type);
        }
        if (type == Optional.class) {
            return Optional.ofNullable(as(value, element(declared)));
        }
        if (value == null) {
            return type.isPrimitive() ? as(0L, type) : null;
        }
        if (type.isInstance(value)) {
            return value;
        }
        if (value instanceof Boolean && type == boolean.class) {
            return value;
        }
        String text = value instanceof Boolean ? ((Boolean) value ? "1" : "0") : value.toString();
        if (type == String.class || type == CharSequence.class) {
            return value.toString();
        }
        if (type.isEnum()) {
            return constant(type.getEnumConstants(), text);
        }
        if (type == char.class || type == Character.class) {
            return text.isEmpty() ? ' ' : text.charAt(0);
        }
        Object moment = moment(value, text, type);
        return moment != null ? moment : number(text, type);
    }

    private static Object many(List<?> all, Type declared, Class<?> type) throws Exception {
        if (type.isArray()) {
            Object array = Array.newInstance(type.getComponentType(), all.size());
            for (int at = 0; at < all.size(); at++) {
                Array.set(array, at, as(all.get(at), type.getComponentType()));
            }
            return array;
        }
        if (!Iterable.class.isAssignableFrom(type) && type != Object.class) {
            return Beans.make(type, all);
        }
        List<Object> made = new ArrayList<>();
        for (Object one : all) {
            made.add(as(one, element(declared)));
        }
        return type == Set.class ? new LinkedHashSet<>(made) : made;
    }

    private static Class<?> raw(Type type) {
        if (type instanceof ParameterizedType) {
            return (Class<?>) ((ParameterizedType) type).getRawType();
        }
        return type instanceof Class ? (Class<?>) type : Object.class;
    }

    private static Type element(Type type) {
        if (type instanceof ParameterizedType) {
            return ((ParameterizedType) type).getActualTypeArguments()[0];
        }
        return Object.class;
    }

    /** The constant of that name, or of that number; the first one for anything else. */
    private static Object constant(Object[] constants, String text) {
        for (int at = 0; at < constants.length; at++) {
            if (((Enum<?>) constants[at]).name().equalsIgnoreCase(text)
                    || text.equals(String.valueOf(at))) {
                return constants[at];
            }
        }
        return constants.length == 0 ? null : constants[0];
    }

    /** A moment, from seconds or a text; and what else is no number. Null for other types. */
    private static Object moment(Object value, String text, Class<?> type) {
        if (type == UUID.class) {
            return UUID.nameUUIDFromBytes(text.getBytes(StandardCharsets.UTF_8));
        }
        boolean dated = type.getName().startsWith("java.time.")
                || java.util.Date.class.isAssignableFrom(type);
        if (!dated) {
            return null;
        }
        Timestamp stamp = value instanceof Number
                ? new Timestamp(((Number) value).longValue() * 1000)
                : Timestamp.valueOf(text.length() == 10 ? text + " 00:00:00"
                        : text.length() == 8 ? "1970-01-01 " + text : text.replace('T', ' '));
        if (type == java.sql.Date.class) {
            return new java.sql.Date(stamp.getTime());
        }
        if (type == java.sql.Time.class) {
            return new java.sql.Time(stamp.getTime());
        }
        LocalDateTime local = stamp.toLocalDateTime();
        if (type == LocalDate.class) {
            return local.toLocalDate();
        }
        if (type == LocalTime.class) {
            return local.toLocalTime();
        }
        if (type == LocalDateTime.class) {
            return local;
        }
        return type == Instant.class ? stamp.toInstant() : type.isInstance(stamp) ? stamp : null;
    }

    private static Object number(String text, Class<?> type) {
        boolean isNumber = type.isPrimitive() || Number.class.isAssignableFrom(type)
                || type == Boolean.class;
        if (!isNumber) {
            throw new IllegalArgumentException("no value of type " + type.getName() + " can be made");
        }
        BigDecimal number = new BigDecimal(text);
        if (type == int.class || type == Integer.class) {
            return number.intValue();
        }
        if (type == long.class || type == Long.class) {
            return number.longValue();
        }
        if (type == short.class || type == Short.class) {
            return number.shortValue();
        }
        if (type == byte.class || type == Byte.class) {
            return number.byteValue();
        }
        if (type == double.class || type == Double.class) {
            return number.doubleValue();
        }
        if (type == float.class || type == Float.class) {
            return number.floatValue();
        }
        if (type == boolean.class || type == Boolean.class) {
            return number.signum() != 0;
        }
        return type == BigInteger.class ? number.toBigInteger() : (Object) number;
    }

    /** What the application can see of a value, without addresses of objects. */
    static String shown(Object value) {
        boolean plain = value == null || value instanceof Number || value instanceof Boolean
                || value instanceof String || value instanceof java.util.Date;
        return plain ? String.valueOf(value) : value.getClass().getSimpleName();
    }

    private Values() {}
}
